"""Which models may be chosen instead of the one that an agent's code names (ADM-06)."""

from collections.abc import Sequence

from app.domain.errors import InvalidArgument
from app.models.resolve import ModelSource, canonical, names_a_model


def checked_model(model_id: str) -> str:
    """Return an id in its one spelling.

    Raises:
        InvalidArgument: it is none.
    """
    if not (model_id.isprintable() and names_a_model(model_id)):
        raise InvalidArgument(
            f"model: {model_id!r} names no provider; write provider:model or vendor/model"
        )
    return canonical(model_id)


def check_allowed(model_id: str, allowed: Sequence[str] | None, *, coded: ModelSource) -> None:
    """Let a model be chosen, by an operator or with a prompt, or raise.

    Args:
        model_id: which one, in either spelling.
        allowed: the deployment's list; ``None``: any.
        coded: the agent's own, which needs to be on no list.

    Raises:
        InvalidArgument: it is not on the list; says what is.
    """
    chosen = canonical(model_id)
    if allowed is None or chosen in allowed:
        return
    if isinstance(coded, str) and chosen == canonical(coded):
        return
    known = ", ".join(allowed) or "none but the agent's own"
    raise InvalidArgument(f"model: {model_id!r} may not be chosen here; those that may: {known}")
