"""What an agent of ``tests/e2e/agents/players.py`` is told to do, as JSON in the user's message."""

import json
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]
Turns: TypeAlias = list[list[Call]]


def play(*turns: list[Call]) -> str:
    """Return the message that asks for these turns of calls."""
    return json.dumps(turns)


def work(seconds: float = 0.0, says: str = "worked") -> Call:
    """Return a call that takes a while."""
    return "work", {"seconds": seconds, "says": says}


def turns_in(message: str) -> Turns:
    """Return the turns that a message asks for; what is no such message asks for none."""
    try:
        found = json.loads(message)
    except ValueError:
        return []
    if not isinstance(found, list):
        return []
    return [[(name, arguments) for name, arguments in turn] for turn in found]
