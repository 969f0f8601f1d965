"""Writes a line of more than 4 MiB."""

input()
print('{"id":1,"outcome":"failed","detail":"' + "x" * (4 * 1024 * 1024) + '"}', flush=True)
input()
