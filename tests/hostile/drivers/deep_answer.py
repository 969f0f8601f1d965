"""Nests its name ten thousand times."""

import sys

sys.stdin.readline()
print('{"id":1,"outcome":"done","result":{"name":' + "[" * 10_000 + "]" * 10_000 + "}}", flush=True)
sys.stdin.read()
