"""Two ways to a fresh driver process: start its command, or have a warm parent fork one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from conformance.carriers.base import DriverProblem
from conformance.carriers.guardian import Guardian

#: A driver talks to the suite over loopback, which no proxy can see.
_NO_PROXY = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


class Body(Protocol):
    """A process that was started, in a process group of its own."""

    pid: int

    def end(self) -> int:
        """Kill the whole group, wait for the process, and return its wait status; the second call returns the same."""
        ...


class Spawner(Protocol):
    """Starts driver processes on given descriptors."""

    def spawn(self, stdin: int, stdout: int, stderr: int) -> Body:
        """A new process; raises DriverProblem when there is none. The caller closes the descriptors."""
        ...

    def close(self) -> None:
        """Release what outlives a schedule."""
        ...


class Child:
    """A direct child of the suite."""

    def __init__(self, process: subprocess.Popen[bytes], guardian: Guardian) -> None:
        self._process = process
        self._guardian = guardian
        self._status: int | None = None
        self.pid = process.pid
        guardian.add(process.pid)

    def end(self) -> int:
        """SIGKILL to the group; the child is not reaped before, so its number is still its own."""
        if self._status is None:
            if self._process.returncode is None:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
            code = self._process.wait()
            self._status = -code if code < 0 else code << 8
            self._guardian.remove(self.pid)
        return self._status

    def await_end(self, seconds: float) -> None:
        """Wait for it to end by itself, which lets it clean up; kill it when it does not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.end()


class CommandSpawner:
    """Runs a command for each driver process, in the working directory ``folder`` (None: the suite's own)."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None, folder: Path | None = None) -> None:
        self._command = list(command)
        self._env = environment(env)
        self._folder = folder
        self._guardian = Guardian()

    def spawn(self, stdin: int, stdout: int, stderr: int) -> Child:
        """Start the command in a session of its own."""
        process = start(self._command, self._env, (stdin, stdout, stderr), folder=self._folder)
        return Child(process, self._guardian)

    def close(self) -> None:
        """End the guardian."""
        self._guardian.close()


class Fork:
    """A child of the warm parent, which kills and reaps it on order."""

    def __init__(self, parent: ForkSpawner, pid: int) -> None:
        self._parent = parent
        self._generation = parent.generation
        self._status: int | None = None
        self.pid = pid

    def end(self) -> int:
        """Have it killed and waited for. A warm parent that has ended took its children with it."""
        if self._status is None:
            self._status = signal.SIGKILL
            if self._generation == self._parent.generation:
                self._status = self._parent.end_child(self.pid)
        return self._status


class ForkSpawner:
    """Keeps one warm parent (``conformance.kit.process.serve_forking``) and orders forks from it.

    ``generation`` changes whenever the warm parent ends.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None, deadline_ms: int) -> None:
        self._command = list(command)
        self._env = environment(env)
        self._deadline_ms = deadline_ms
        self._guardian = Guardian()
        self._parent: Child | None = None
        self._socket: socket.socket | None = None
        self.generation = 0

    def spawn(self, stdin: int, stdout: int, stderr: int) -> Fork:
        """Fork one driver process onto these descriptors."""
        if self._socket is None:
            self._start()
        pid = self._order("start", (stdin, stdout, stderr))
        self._guardian.add(pid)
        return Fork(self, pid)

    def end_child(self, pid: int) -> int:
        """Have a child killed, and return its wait status."""
        status = self._order(f"end {pid}")
        self._guardian.remove(pid)
        return status

    def close(self) -> None:
        """End the warm parent and with it every child that it still has."""
        if self._socket is None or self._parent is None:
            return
        self.generation += 1
        # Shut down, not only closed: a process that the suite forked may hold the same socket.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._parent.await_end(self._deadline_ms / 1000)
        self._socket = self._parent = None
        self._stderr.close()
        self._guardian.close()

    def _order(self, words: str, fds: Sequence[int] = ()) -> int:
        """Send one order to the warm parent and return the number that it answers."""
        assert self._socket is not None
        try:
            if fds:
                socket.send_fds(self._socket, [words.encode()], list(fds))
            else:
                self._socket.sendall(words.encode())
            return int(self._line())
        except OSError as error:
            raise self._problem(f"no longer takes orders ({error.strerror or error})") from None
        except KeyboardInterrupt:
            # Its answer would be taken for that of the next order.
            self.close()
            raise

    def _start(self) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the warm parent)
        null = os.open(os.devnull, os.O_RDWR)
        command = [*self._command, "--zygote", str(theirs.fileno())]
        try:
            process = start(command, self._env, (null, null, self._stderr.fileno()), keep=theirs.fileno())
        except DriverProblem:
            mine.close()
            self._stderr.close()
            raise
        finally:
            theirs.close()
            os.close(null)
        self._parent = Child(process, self._guardian)
        self._socket = mine
        if self._line() != "ready":
            raise self._problem("did not say that it is ready")

    def _line(self) -> str:
        assert self._socket is not None
        poller = select.poll()
        poller.register(self._socket.fileno(), select.POLLIN)
        data = b""
        while not data.endswith(b"\n"):
            if not poller.poll(self._deadline_ms):
                raise self._problem(f"did not answer within {self._deadline_ms} ms")
            more = self._socket.recv(64)
            if not more:
                raise self._problem("ended")
            data += more
        return data.decode().strip()

    def _problem(self, what: str) -> DriverProblem:
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 2048))
        said = self._stderr.read().decode("utf-8", "replace").strip()
        self.close()
        tail = f"; it last wrote to stderr:\n{said}" if said else ""
        return DriverProblem(f"the warm parent {_shown(self._command)} {what}{tail}")


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """The driver's environment: the given one, or the suite's; loopback is kept away from proxies either way."""
    return {**(os.environ if env is None else env), **_NO_PROXY}


def exit_watch(pid: int) -> int:
    """A descriptor that becomes readable when this process ends, or -1 where the system has no such thing.

    The process is not reaped by that, so it may also be a child of somebody else.
    """
    opened = getattr(os, "pidfd_open", None)
    if opened is None:
        return -1
    try:
        watch: int = opened(pid)
    except OSError:
        return -1
    return watch


def start(
    command: Sequence[str],
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    keep: int | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in a session and process group of its own, on these standard streams, in ``folder``.

    ``keep`` is one more descriptor that it inherits. Raises DriverProblem, in one sentence, when it cannot be started.
    """
    stdin, stdout, stderr = streams
    passed = () if keep is None else (keep,)
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=folder,
            start_new_session=True,
            pass_fds=passed,
        )
    except FileNotFoundError:
        reason = "there is no such file; check the command, or give its full path"
    except PermissionError:
        reason = "it is not executable; set its x bit, or put its interpreter first"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise DriverProblem(f"the driver {_shown(command)} cannot be started: {reason}")


def _shown(command: Sequence[str]) -> str:
    return json.dumps(" ".join(command), ensure_ascii=False)
