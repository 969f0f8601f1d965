"""Tries to rule the terminal, and the page, by its name."""

from sound import driver

driver.HELLO |= {"name": "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e", "version": "\r\nfit for L2"}
driver.main()
