"""Writes a line that is not UTF-8."""

import os

input()
os.write(1, b'{"id":1,"outcome":"failed","detail":"caf\xe9"}\n')
input()
