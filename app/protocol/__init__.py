"""The wire: every frame and row that crosses between Ropewalk and its clients.

Declared once, here; ``export`` turns it into the SDK's types, ``docs/protocol.md``
is the page for people, and ``tests/protocol/vectors`` holds a golden message for
each frame, read by both sides.

Law: a field is never renamed or given another meaning, a new one is added beside
it.  The server refuses what it does not know, a client ignores it.
"""
