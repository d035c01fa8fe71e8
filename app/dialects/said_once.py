"""By which id a message that a user said is known: the sender's own, wherever it is told."""

import hashlib

from app.dialects.events import Row

_MARK = "#ropewalk:"


def once_key(id_: str, *what: str) -> str:
    """Return the key under which a message is said once: its id, which is a client's own, and what.

    Clients count their messages anew in every thread; an edit bears the id of what it edits.
    """
    of_all = "\x00".join(what).encode(errors="surrogatepass")
    return f"{id_}{_MARK}{hashlib.sha256(of_all).hexdigest()[:32]}"


def known_as(row: Row) -> str:
    """Return the id by which other protocols know what a user said: the sender's own, if any."""
    return str(row.get("dedupe") or row["id"]).rsplit(_MARK, 1)[0]
