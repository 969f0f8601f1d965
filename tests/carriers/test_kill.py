"""Nothing of a driver outlives its kill, its session, its carrier, or the suite."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.carriers.base import DriverProblem
from conformance.carriers.guardian import Guardian
from conformance.carriers.subprocess import ForkedCarrier, ProcessCarrier
from tests.carriers.support import DRIVERS, command, driven, opened

#: A suite of its own that starts a driver with a child on a FIFO, says so, and hangs.
SUITE = """
import sys, signal
from tests.carriers.support import driven
# Whoever starts the tests in the background of a shell has them ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
with driven("with_child") as (stage, link):
    stage.ask(link, "snapshot", fifo=sys.argv[1])
    print(stage.session.state_dir, flush=True)
    signal.pause()
"""


class Fifo:
    """Read end of a FIFO that a driver's child holds open for writing: its end is the child's death."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fifo"
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_for_writer(self) -> None:
        """Return when the child has opened it (a reopened read end blocks until then)."""
        os.close(self.fd)
        self.fd = os.open(self.path, os.O_RDONLY)

    def ended(self) -> bool:
        """Whether every writer is gone, within ten seconds."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        return bool(poller.poll(10_000)) and os.read(self.fd, 1) == b""


def test_a_kill_takes_the_whole_process_group(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    with driven("with_child") as (stage, link):
        stage.ask(link, "snapshot", fifo=str(fifo.path))
        fifo.wait_for_writer()
        link.kill()
        assert fifo.ended()


def test_the_end_of_a_session_takes_everything(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    with driven("with_child") as (stage, link):
        stage.ask(link, "snapshot", fifo=str(fifo.path))
        fifo.wait_for_writer()
        assert stage.session is not None
        folder = stage.session.state_dir
        assert folder.is_dir()
    assert fifo.ended()
    assert not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_suite_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    fifo = Fifo(tmp_path)
    suite = subprocess.Popen(
        [sys.executable, "-c", SUITE, str(fifo.path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert suite.stdout is not None
    with suite, suite.stdout:
        folder = Path(suite.stdout.readline().decode().strip())
        fifo.wait_for_writer()
        suite.send_signal(how)
        try:
            assert fifo.ended()
        except AssertionError:
            suite.kill()
            raise
        suite.wait()
    # An interrupt still lets the suite tidy up; the other two end it on the spot.
    assert folder.exists() == (how is not signal.SIGINT)
    shutil.rmtree(folder, ignore_errors=True)


def test_a_killed_process_takes_no_more_and_a_second_kill_is_nothing() -> None:
    with driven("echo") as (stage, link):
        link.kill()
        link.kill()
        with pytest.raises(DriverProblem, match="ended"):
            stage.send(link, "snapshot")


def test_a_carrier_leaves_no_descriptor_and_no_child_behind() -> None:
    before = len(os.listdir("/dev/fd"))
    pids: list[int] = []
    carrier = ProcessCarrier("echo", command("echo"))
    for _ in range(3):
        with opened(carrier) as stage:
            first, second = stage.start("w1"), stage.start("w2")
            pids += [stage.ask(link, "pid")["result"]["pid"] for link in (first, second)]
            assert stage.ask(first, "snapshot")["outcome"] == "done"
            first.kill()
            assert stage.ask(second, "snapshot")["outcome"] == "done"
    carrier.shutdown()
    assert len(os.listdir("/dev/fd")) == before
    assert len(pids) == 6
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_forks_are_processes_of_their_own_and_end_with_their_carrier() -> None:
    before = len(os.listdir("/dev/fd"))
    carrier = ForkedCarrier("poster", [sys.executable, str(DRIVERS / "poster.py")])
    with opened(carrier) as stage:
        links = [stage.start(name) for name in ("w1", "w2")]
        links[0].kill()
        assert stage.ask(links[1], "hello")["result"]["name"] == "poster"
        carrier.shutdown()
        with pytest.raises(DriverProblem, match="ended"):
            stage.ask(links[1], "hello")
    with opened(carrier) as stage:
        assert stage.ask(stage.start("w1"), "hello")["outcome"] == "done"
    carrier.shutdown()
    assert len(os.listdir("/dev/fd")) == before


def test_a_guardian_that_was_killed_is_replaced_and_knows_everything(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    child = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import signal,sys; k=open(sys.argv[1],'w'); signal.pause()",
            str(fifo.path),
        ],
        start_new_session=True,
    )
    fifo.wait_for_writer()
    guardian = Guardian()
    guardian.add(child.pid)
    assert guardian._pid is not None
    os.kill(guardian._pid, signal.SIGKILL)
    os.waitid(os.P_PID, guardian._pid, os.WEXITED | os.WNOWAIT)
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"], start_new_session=True)
    guardian.add(other.pid)
    other.wait()
    guardian.remove(other.pid)
    guardian.close()
    assert fifo.ended()
    assert child.wait() == -signal.SIGKILL
