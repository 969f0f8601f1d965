"""A driver made with the kit: ``post`` posts its marker, ``print`` prints to stdout, ``nan`` says the unsayable."""

import argparse
import sys

from conformance.kit import RemoteUnknown, Unsupported
from conformance.kit.process import serve, serve_forking


class Poster:
    def __init__(self):
        self.ports = None

    def hello(self):
        return {"name": "poster", "version": "1", "families": ["post"], "rung": "L0"}

    def open(self, _setup, ports):
        self.ports = ports
        return self

    def command(self, cmd, args):
        if cmd == "print":
            print("stray")
            return {}
        if cmd == "nan":
            return {"value": float("nan")}
        if cmd != "post":
            raise Unsupported(cmd, "no such command")
        payload = {"marker": args["marker"], "input": {"pad": "x" * args.get("pad", 0)}}
        try:
            answer = self.ports.remote.post("send", "/effect/thing", payload, args.get("deadline"))
        except RemoteUnknown as unknown:
            return {"unknown": str(unknown)}
        return {"status": answer.status, "body": answer.json()}

    def recover(self):
        return {}

    def snapshot(self):
        return {"source": "derived", "kinds": {}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--zygote", type=int)
    fd = parser.parse_args().zygote
    sys.exit(serve(Poster) if fd is None else serve_forking(Poster, fd))
