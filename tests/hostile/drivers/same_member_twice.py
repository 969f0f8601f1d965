"""Says done and failed in one line."""

import sys

sys.stdin.readline()
print('{"id":1,"outcome":"done","outcome":"failed","result":{}}', flush=True)
sys.stdin.read()
