"""What a team writes against: agents, tools and server functions, all declarations.

``agents/`` imports these names from ``app``, which hands them on, and nothing deeper.
"""
