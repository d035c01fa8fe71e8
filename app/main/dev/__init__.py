"""``ropewalk dev``: the whole product on one machine, from one command.

Each part is a process of its own, as in production: Postgres, Redis, the gateway and the workers.
Laws: one that dies is started again; when ``dev`` ends, however it ends, nothing is left running;
what was stored is there the next time.  Held by ``tests/e2e/test_dev_*.py``.
"""
