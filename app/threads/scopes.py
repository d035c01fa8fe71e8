"""What a key with scopes may use: the functions that it names, and nothing beside them.

A scope is ``module:name`` or ``module:*``.  Whoever has none is bound by nothing here.  Every way
in asks: functions when they are called from outside, the socket when somebody subscribes, HTTP for
the routes that call no function.
"""

import re
from typing import Final

from pydantic.alias_generators import to_camel

from app.domain.errors import Forbidden, InvalidArgument
from app.domain.identity import Identity

_SCOPE: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*|\*)")


def check_scope(caller: Identity, ref: str) -> None:
    """Let the caller use what ``ref`` names, in either spelling, or raise.

    Raises:
        Forbidden: it has scopes, and this is in none; names the one that is missing.
    """
    if caller.scopes is None:
        return
    module, _, name = ref.partition(":")
    needed = f"{module}:{to_camel(name)}"
    if needed not in caller.scopes and f"{module}:*" not in caller.scopes:
        raise Forbidden(f"this key has no scope {needed}")


def as_scope(text: str) -> str:
    """Return a scope as it is kept, whichever way its function is spelled.

    Raises:
        InvalidArgument: it is none.
    """
    found = _SCOPE.fullmatch(text)
    if found is None:
        raise InvalidArgument(f"{text!r} is no scope: write module:name or module:*")
    module, name = found.groups()
    return f"{module}:{name if name == '*' else to_camel(name)}"
