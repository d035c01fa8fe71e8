"""Sockets: the live view of threads, calls, and the text that a model is saying just now.

From outside to inside: ``asgi`` takes a socket, ``connection`` runs its session
(``session`` decides, purely), ``feeds`` finds the one ``feed`` of a thread, which reads
each change once and writes the same bytes to every ``outbox``.  Nothing here is truth:
a gateway that is killed loses nothing, and clients go on elsewhere with their cursors.
"""
