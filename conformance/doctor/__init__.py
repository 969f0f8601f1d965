"""``onceproof doctor``: is a driver fit for the rung that it declares, and what has to be mended?

It calibrates the instrument and judges no requirement: each check plays the script of a family's own scenario in some
way, and looks at messages, connections and rows. It knows no protocol by name.
"""
