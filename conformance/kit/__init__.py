"""The driver kit: what a Python implementer uses to put an implementation behind the driver protocol.

The kit owns stdin, sockets, fault points, the virtual clock and the request to the remote; the implementer
writes a :class:`Implementation` whose ports all come from :class:`Ports` (driver protocol, DESIGN section 5).
"""

from conformance.kit.clock import ClockPort, Time
from conformance.kit.engine import Engine, Implementation, Ports, Runtime, Setup, Unsupported
from conformance.kit.ids import IdPort
from conformance.kit.remote import RemoteAnswer, RemotePort, RemoteUnknown, Request
from conformance.kit.seam import AckLost, Cut, Seam, StoreFailed

__all__ = [
    "AckLost",
    "ClockPort",
    "Cut",
    "Engine",
    "IdPort",
    "Implementation",
    "Ports",
    "RemoteAnswer",
    "RemotePort",
    "RemoteUnknown",
    "Request",
    "Runtime",
    "Seam",
    "Setup",
    "StoreFailed",
    "Time",
    "Unsupported",
]
