"""The pure middle: words, states and ports that every ring shares.

Nothing here performs I/O, reads a clock, draws a random number or imports a
driver.  What follows from what is a function from values to values, so every
path can be tested as a table; the adapters at the rim carry it out.
"""
