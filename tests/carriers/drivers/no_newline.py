"""Ends in the middle of its only line."""

import os

input()
os.write(1, b'{"id":1,"outcome":"done","result":{}}')
