"""Greets on stdout before it speaks the protocol."""

print("driver 1.0 ready", flush=True)
input()
