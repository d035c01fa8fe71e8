"""A run as other protocols tell it: the AI SDK's UI message stream, and AG-UI.

Pure.  What our own wire says of a thread (rows, tokens, the thread itself) goes in, bytes of
another protocol come out.  ``app.gateway.retelling`` drives it from a feed, ``app.http`` reads
what clients of these protocols ask for.

Law: what is stored is the truth.  A telling ends in exactly what the rows say, whatever was
heard live before; and told anew, from the beginning, it has the same ids and the same parts.
"""
