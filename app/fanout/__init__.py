"""What travels past the facts: live text, hints that something changed, calls to stop.

All of it may be lost.  Facts are read from Postgres; what is heard here only says when.
"""
