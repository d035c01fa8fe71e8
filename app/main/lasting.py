"""What a process loads once and keeps, kept out of the garbage collector's way.

A start makes some two hundred thousand objects that live as long as the process.  The collector
would look at all of them again and again while they are made, and in every full collection after
that: a tenth of a second in which every socket and every drive of the process waits.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """Take what is made in this block for lasting: no collection looks at it, now or later."""
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
