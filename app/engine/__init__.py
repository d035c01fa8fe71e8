"""The durable engine: runs, steps and suspension.  It knows no agent.

``drive`` executes one run from claim to park or end; ``durable_run`` is what a
program sees of it; ``bodies`` tries what it does, ``recorder`` makes it durable;
``pool`` holds the drives of a worker; ``lease`` and ``sweeper`` decide who is alive.
"""
