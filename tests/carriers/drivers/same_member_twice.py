"""Answers with two members of the same name: which of them counts?"""

import sys

sys.stdin.readline()
print('{"id":1,"outcome":"done","outcome":"failed","result":{}}', flush=True)
sys.stdin.read()
