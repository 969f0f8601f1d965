"""Legal variants of recovery: how it tells the attempt of a live worker from an orphan.

Both use ``flock``, which the kernel gives up with the process; in the simulated process a crash closes the files from
outside, as it closes the connection to the store.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.kit import Ports, Setup
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Store
from statemachines.spec import Spec

RECOVERY = Collection("mutation-host")


class LockFile:
    """An advisory lock on one file, held until it is dropped or its process ends."""

    def __init__(self, path: Path, ports: Ports) -> None:
        self._path = path
        self._fd: int | None = None
        ports.resources.append(self.drop)

    def take(self, *, shared: bool = False) -> bool:
        """Take or convert the lock without waiting; False when another holder forbids it, and nothing is held then."""
        if self._fd is None:
            self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Give it up; once is enough."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


class Claims:
    """One lock for each attempt that a worker has in hand."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._folder = folder
        self._ports = ports
        self._held: LockFile | None = None

    def hold(self, attempt: str) -> None:
        """Claim the attempt of the command under way, of which a process has one."""
        self._held = LockFile(self._folder / f"{attempt}.lock", self._ports)
        self._held.take()

    def drop(self) -> None:
        """The command is over: whatever is left of its attempt is an orphan."""
        if self._held is not None:
            self._held.drop()

    def orphaned(self, attempt: str) -> bool:
        """Whether no live worker has the attempt in hand."""
        probe = LockFile(self._folder / f"{attempt}.lock", self._ports)
        free = probe.take()
        probe.drop()
        return free


class _Claiming(Dispatcher):
    claims: Claims

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        try:
            return super().attempt(call, voice)
        finally:
            self.claims.drop()

    def prepare(self, call: Call, attempt: str) -> Record | None:
        self.claims.hold(attempt)
        return super().prepare(call, attempt)


class _Sparing(Supervisor):
    claims: Claims

    def _recover_one(self, record: Record) -> bool:
        open_row = record.state in ("Prepared", "Dispatching")
        return not (open_row and not self.claims.orphaned(record.attempt)) and super()._recover_one(record)


@RECOVERY.plant(
    "spares-live-owner",
    names="live-worker-and-recovery/recover-spares-live-owner",
    part="host",
    readings={"live-worker-and-recovery": "recover-spares-live-owner"},
)
class SparesLiveOwner(MutationHost):
    """Recovery runs at any time and passes over attempts whose worker lives, by a lock for each attempt in hand."""

    dispatcher_class = _Claiming
    supervisor_class = _Sparing

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        assert isinstance(self.dispatcher, _Claiming)
        assert isinstance(self.supervisor, _Sparing)
        self.dispatcher.claims = self.supervisor.claims = Claims(setup.state_dir, ports)


@RECOVERY.plant(
    "recovers-at-start",
    names="live-worker-and-recovery/recover-at-start",
    part="host",
    readings={"live-worker-and-recovery": "recover-at-start"},
)
class RecoversAtStart(MutationHost):
    """Recovery needs the ledger for itself: it declines while another process has used it and lives."""

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        self._tenancy = LockFile(setup.state_dir / "tenants.lock", ports)

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        # The first command makes this process a tenant until it ends; meanwhile nobody recovers, and while
        # somebody does, no command runs.
        while not self._tenancy.take(shared=True):
            self._ports.wait("lock")
        return super().command(cmd, args)

    def recover(self) -> Mapping[str, Any]:
        if not self._tenancy.take():
            return {"status": "declined", "settled": 0}
        try:
            return super().recover()
        finally:
            self._tenancy.drop()
