"""Sends an event that the protocol does not have."""

input()
print('{"event":"pausing","pause":1}', flush=True)
input()
