"""One real driver process: its pipes, its connections, its end. Implements :class:`~conformance.carriers.base.Link`."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections import deque
from typing import Final

from conformance.carriers.base import DeadlinePassed, DriverProblem, Message
from conformance.carriers.conversation import BadMessage, Conversation
from conformance.carriers.hub import Hub
from conformance.carriers.spawn import Body, exit_watch
from conformance.kit.lines import BadLine, LineBuffer, decode, encode
from conformance.remote.server import Endpoint

_CHUNK: Final = 256 * 1024
#: How much of stderr is kept, and how much of that is shown, in bytes.
STDERR_KEPT: Final = 64 * 1024
STDERR_SHOWN: Final = 2 * 1024
#: How long a command that was answered may take to be seen closing a connection that the remote holds. It decides
#: only in which order two things are logged.
_CLOSING_MS: Final = 20
#: How long the end of its stdout may follow the end of a process. A system may show the two in either order.
_LAST_WORDS_MS: Final = 250


class ProcessLink:
    """A driver process between three pipes and a listener of its own.

    Lines are taken in as they come and given out when the process has come to rest (or connects): the same order in
    which a simulated process speaks.
    """

    def __init__(
        self, hub: Hub, who: str, body: Body, pipes: tuple[int, int, int], *, endpoint: Endpoint, deadline_ms: int
    ) -> None:
        self._hub = hub
        self._who = who
        self._body = body
        self._stdin, self._stdout, self._stderr = pipes
        self._exit = exit_watch(body.pid)
        self._left_a_child = False
        self._endpoint = endpoint
        self._deadline_ms = deadline_ms
        self._talk = Conversation()
        self._lines = LineBuffer()
        self._inbox: deque[Message] = deque()
        self._said = bytearray()
        self._spoke = False
        self._ended = False
        self._writing = False
        self._turning = False
        self._alive = True
        self._problem: DriverProblem | None = None
        self._answers = 0
        self._since = 0.0
        for fd in pipes:
            os.set_blocking(fd, False)
        hub.join(self)

    # -- Link --------------------------------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        """Hand over one request with this carrier's deadline."""
        self._raise_problem()
        self._talk.sent(message, self._endpoint.answered)
        self._endpoint.epoch = self._talk.epoch
        self._since = time.monotonic()
        self._write(encode({**message, "deadline_ms": self._deadline_ms}))

    def pending(self) -> bool:
        """Whether it said anything that was not taken yet."""
        return bool(self._inbox)

    def recv(self) -> Message | None:
        """The next thing it said, once it has come to rest; None when there is nothing more."""
        if not self._turning and not self._at_rest():
            self._run()
        return self._inbox.popleft() if self._inbox else None

    def listen(self) -> None:
        """Listen again, with the whole deadline, to a command that said that it waits."""
        self._talk.stirred()
        self._since = time.monotonic()

    def departed(self, patience_ms: int) -> str:
        """The end of its stdout is taken for its own: what then still runs of its group is killed."""
        until = time.monotonic() + patience_ms / 1000
        while not self._ended and self._problem is None and (left := (until - time.monotonic()) * 1000) > 0:
            self._turn(left)
        self._raise_problem()
        said_end, left = self._ended, self._left_a_child
        status = self._body.end()
        self.discard()
        if not said_end:
            return f"still ran {patience_ms} ms later"
        if left:
            return "left a child behind, which had to be killed"
        return "" if status == 0 else f"ended with {_ending(status)}"

    def kill(self) -> None:
        """SIGKILL to the process group; what the process had sent by then is still logged."""
        if not self._alive:
            return
        self._alive = False
        self._body.end()
        self._inbox.clear()
        self._endpoint.finish()
        self._close()

    def discard(self) -> None:
        """End the process without a word in the history."""
        if self._alive:
            self._alive = False
            with contextlib.suppress(DriverProblem):
                self._body.end()
            self._endpoint.close()
            self._close()

    # -- Party -------------------------------------------------------------------------------------------------

    def pipes(self) -> list[tuple[int, int]]:
        """Stdout and stderr while they are open, the process's exit, stdin while a line is being written."""
        heard = -1 if self._problem else self._stdout
        open_ends = [(fd, select.POLLIN) for fd in (heard, self._stderr, self._exit) if fd >= 0]
        return [*open_ends, (self._stdin, select.POLLOUT)] if self._writing else open_ends

    def wires(self) -> list[tuple[int, int]]:
        """What the remote watches for this process."""
        return self._endpoint.interests()

    def on_pipe(self, fd: int) -> None:
        """Take in what is there."""
        if fd == self._stdout:
            self._hear()
        elif fd == self._exit:
            self._exited()
        elif fd == self._stderr:
            data = _read(fd)
            if data == b"":
                os.close(fd)
                self._stderr = -1
            self._said += data or b""
            del self._said[:-STDERR_KEPT]

    def on_wires(self, fds: list[int]) -> None:
        """Let the remote go on; first hear what was said before."""
        if self._stdout >= 0:
            self._hear()
        for fd in fds:
            self._endpoint.handle(fd)

    # -- inside ------------------------------------------------------------------------------------------------

    def _at_rest(self) -> bool:
        endpoint, talk = self._endpoint, self._talk
        return talk.at_rest(endpoint.answered, endpoint.under_way(talk.working), endpoint.holding(talk.epoch))

    def _run(self) -> None:
        """Turn the hub until the process is at rest."""
        worked = self._talk.working
        while True:
            if self._endpoint.answered != self._answers:
                self._answers = self._endpoint.answered
                self._since = time.monotonic()
            if self._at_rest():
                # The process may have closed a connection, or made one, before the line that brought it to rest.
                closing = worked and not self._talk.working and self._endpoint.holding(self._talk.epoch)
                if not self._turn(_CLOSING_MS if closing else 0):
                    break
                continue
            self._raise_problem()
            if self._ended:
                if self._inbox:
                    return
                raise self._fail("ended", "a crash of the driver? an exit in place of an answer?")
            left = self._left_ms()
            if left <= 0 or not self._turn(left):
                raise self._late()
        self._raise_problem()

    def _left_ms(self) -> float:
        return (self._since - time.monotonic()) * 1000 + self._deadline_ms

    def _turn(self, timeout_ms: float) -> bool:
        self._turning = True
        try:
            return self._hub.turn(self, timeout_ms)
        finally:
            self._turning = False

    def _hear(self) -> None:
        while self._problem is None:
            data = _read(self._stdout)
            if data is None:
                return
            if not data:
                os.close(self._stdout)
                self._stdout = -1
                self._ended = True
                return
            self._spoke = True
            self._take(data)
            if len(data) < _CHUNK:
                return

    def _exited(self) -> None:
        """The process has ended; whoever still holds its stdout is a child that it has left behind."""
        os.close(self._exit)
        self._exit = -1
        while self._problem is None and self._stdout >= 0 and _readable(self._stdout, _LAST_WORDS_MS):
            if data := _read(self._stdout):
                self._spoke = True
                self._take(data)
            else:
                os.close(self._stdout)
                self._stdout = -1
        self._left_a_child = self._stdout >= 0
        self._ended = True

    def _take(self, data: bytes) -> None:
        try:
            for line in self._lines.feed(data):
                try:
                    message = decode(line)
                    self._talk.heard(message)
                except BadMessage as bad:
                    self._refuse(line, bad.reason, bad.guess)
                    return
                self._inbox.append(message)
        except BadLine as bad:
            self._refuse(bad.line, bad.reason, _guess(bad))

    def _refuse(self, line: bytes, reason: str, guess: str) -> None:
        shown = line[:200].decode("utf-8", "replace")
        cut = "…" if len(line) > 200 else ""
        self._problem = self._fail(f"wrote a line to stdout that was refused: {reason}: {shown!r}{cut}", guess)

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                self._writing = True
                try:
                    left = self._left_ms()
                    ready = left > 0 and self._turn(left)
                finally:
                    self._writing = False
                if not ready:
                    raise self._fail("reads no input", "does it read stdin while it works?") from None
            except OSError:
                if self._stdout >= 0:
                    self._hear()
                self._raise_problem()
                raise self._fail("ended", "a crash of the driver? an exit in place of an answer?") from None

    def _late(self) -> DeadlinePassed:
        if self._lines.rest:
            start = bytes(self._lines.rest[:200]).decode("utf-8", "replace")
            guess = f"a line without its newline is waiting: {start!r}"
        elif not self._spoke:
            guess = "it has written nothing at all: is stdout buffered? flush after each line"
        else:
            guess = "it hangs, or its answer was not flushed"
        return DeadlinePassed(str(self._fail(f"gave no answer within {self._deadline_ms} ms", guess)))

    def _fail(self, what: str, guess: str) -> DriverProblem:
        """The whole sentence, with how the process ended and its last words."""
        owed = self._talk.awaited()
        how = ""
        if self._ended or what == "ended":
            how = f" ({_ending(self._body.end())})"
            if self._lines.rest:
                guess = "its last line has no newline"
            elif self._left_a_child:
                guess = "it left a child behind that holds its stdout; the process that is started has to stay"
        while self._stderr >= 0 and (data := _read(self._stderr)):
            self._said += data
        words = bytes(self._said[-STDERR_SHOWN:]).decode("utf-8", "replace").strip()
        tail = f"\nits last words on stderr:\n{words}" if words else ""
        return DriverProblem(f"{self._who} {what}{how}; awaited: {owed}; {guess}{tail}")

    def _close(self) -> None:
        self._hub.leave(self)
        for fd in (self._stdin, self._stdout, self._stderr, self._exit):
            if fd >= 0:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._stdin = self._stdout = self._stderr = self._exit = -1


def _readable(fd: int, within_ms: int) -> bool:
    """Whether a pipe has something to read, or has ended, within that time."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(within_ms))


def _read(fd: int) -> bytes | None:
    """What a pipe has; None for nothing yet, empty at its end."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"


def _guess(bad: BadLine) -> str:
    line = bad.line.strip()
    if "longer than" in bad.reason:
        return "put large things into a file in the state directory"
    if "beyond 2^53" in bad.reason:
        return "readers disagree about longer ones: number rows and times so that they fit, and write other ids as text"
    if " twice" in bad.reason:
        return "each member once: which of the two counts, readers disagree about"
    if not line:
        return "an empty line: one message per line, nothing between them"
    if line.startswith(b"{'"):
        return "a Python dict was printed: use json.dumps"
    if line.startswith(b"{"):
        return "JSON spread over several lines, or cut? one object per line, without line breaks"
    return "a print or a banner on stdout? stdout is kept for the protocol, everything else goes to stderr"
