"""Whether a name on a list, an e-mail or a user id, is the caller's.  Pure."""

from collections.abc import Iterable

from app.domain.identity import Identity


def is_called(name: str, caller: Identity) -> bool:
    """Return whether an id or an e-mail is the caller's."""
    if caller.user_id is not None and name == caller.user_id:
        return True
    return caller.email is not None and _folded(name) == _folded(caller.email)


def is_among(names: Iterable[str], caller: Identity) -> bool:
    """Return whether the caller is on a list."""
    return any(is_called(each, caller) for each in names)


def _folded(email: str) -> str:
    """Return an e-mail without the case of its letters.

    Of ASCII's alone: Unicode folds ``ß`` to ``ss``, and two addresses of two owners to one.
    """
    return email.lower() if email.isascii() else email
