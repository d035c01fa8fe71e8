"""What remains of a turn that was cut off: the text that people had already seen."""

from collections.abc import Sequence

from app.domain.message import MessageStatus, Part, Role, interrupted_key, text_part, thinking_part
from app.domain.ports import ShownText
from app.domain.record import NewMessage
from app.domain.run import Usage
from app.domain.storable import encode


def interrupted_message(
    message_id: str, run_id: str, epoch: int, shown: Sequence[ShownText]
) -> NewMessage | None:
    """Return the message that keeps the newest turn's shown text, or ``None`` for no text.

    Arguments of a call that was never made are not kept: they would look like a call
    without a result.
    """
    mine = [piece for piece in shown if piece.run_id == run_id and piece.text]
    if not mine:
        return None
    turn = max(piece.turn for piece in mine)
    cost = cost_of(run_id, shown)
    parts: list[Part] = [
        thinking_part(piece.text) if piece.kind == "thinking" else text_part(piece.text)
        for piece in sorted(mine, key=lambda piece: piece.part)
        if piece.turn == turn and piece.kind != "tool_args"
    ]
    if not parts:
        return None
    return NewMessage(
        id=message_id,
        key=interrupted_key(run_id, turn, epoch),
        role=Role.ASSISTANT,
        status=MessageStatus.INTERRUPTED,
        parts=encode(parts),
        turn=turn,
        usage=None if cost is None else encode(cost.to_json()),
    )


def cost_of(run_id: str, shown: Sequence[ShownText]) -> Usage | None:
    """Return what the request had cost that was cut off, as far as its provider has said."""
    mine = [piece for piece in shown if piece.run_id == run_id]
    turn = max((piece.turn for piece in mine), default=0)
    costs = [piece.cost for piece in mine if piece.turn == turn and piece.cost is not None]
    return max(costs, key=lambda cost: cost.output_tokens, default=None)
