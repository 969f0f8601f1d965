"""Search: programs, their execution, the recording of fault points, and the sweep over them."""
