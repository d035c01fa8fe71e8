"""What the operator sees of a process: metrics and logs.  Nothing here changes what happens.

Ports are measured from outside (``metered``), so that the rings which use them need not know.
"""
