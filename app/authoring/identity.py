"""Who is calling, as the team's code meets it: ``ctx.auth``, and what ``AUTHENTICATE`` answers."""

from app.domain.identity import Identity

__all__ = ["Identity"]
