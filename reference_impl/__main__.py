"""``python -m reference_impl``: the reference as a driver process, or as the warm parent of many."""

from __future__ import annotations

import argparse
import sys

from conformance.kit.process import serve, serve_forking
from reference_impl.registry import REFERENCE, implementation


def main(argv: list[str] | None = None) -> int:
    """Serve the driver protocol on stdin and stdout; the exit status is 2 for an implementation that is not known."""
    parser = argparse.ArgumentParser(prog="python -m reference_impl", description=__doc__)
    parser.add_argument("--plant", metavar="ID", help="the deviation or legal variant to plant")
    parser.add_argument("--zygote", metavar="FD", type=int, help="fork drivers on orders from this socket")
    args = parser.parse_args(argv)
    try:
        make = implementation(args.plant or REFERENCE)
    except LookupError as unknown:
        parser.error(str(unknown.args[0]))
    return serve(make) if args.zygote is None else serve_forking(make, args.zygote)


if __name__ == "__main__":
    sys.exit(main())
