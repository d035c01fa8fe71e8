"""Your agents, tools and server functions.

Every module in this folder is imported when Ropewalk starts.  An ``Agent`` that is
bound to a name is served under it, at once and without a manifest; functions
decorated with ``@query``, ``@mutation`` or ``@action`` are reached as
``module:name``.  Import what you need from ``app``, and nothing deeper.

``support.py`` is a whole agent; ``chat.py`` starts runs from functions of its own;
``research.py`` is an agent that asks another one and keeps a state that every tab shows;
``orders.py`` has a table, live queries and mutations, and ``order_desk.py`` an agent that works
with them.
"""
