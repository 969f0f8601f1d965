"""Writes Latin-1."""

import sys

from sound import driver

sys.stdout.reconfigure(encoding="latin-1")
driver.json.dumps = lambda value, dumps=driver.json.dumps, **how: dumps(value, ensure_ascii=False, **how)
driver.HELLO["name"] = "H\xf4te"
driver.main()
