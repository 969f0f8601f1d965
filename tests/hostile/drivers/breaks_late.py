"""Is sound in its first processes, of which it keeps count, and then prints to stdout."""

from pathlib import Path

from sound import driver

count = Path("processes")
with count.open("a") as file:
    file.write("x")
if len(count.read_text()) > 6:
    print("out of luck", flush=True)
driver.main()
