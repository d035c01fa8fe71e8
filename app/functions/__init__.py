"""Server functions: found by reference, checked on the way in and out, run by their kind.

A query runs in a read-only transaction, a mutation in one transaction of its own,
an action in none.  The ``agents:*`` functions are ordinary ones that come with the
product.
"""
