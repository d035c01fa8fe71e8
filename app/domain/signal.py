"""A message put into a conversation from outside: it waits until the agent reads it.

    inject   read before the running prompt's next model request; wakes an idle thread
    queue    delivered when the current prompt ends; wakes an idle thread
    steer    a person's own send to a busy thread: as inject, but it stays that person's message

A signal never wakes a run that waits, and text never decides an approval.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from app.domain.message import MessageStatus, Part, Role, text_part
from app.domain.record import NewMessage
from app.domain.run import Terms
from app.domain.storable import encode


class SignalMode(StrEnum):
    """When a signal is read."""

    INJECT = "inject"
    QUEUE = "queue"
    STEER = "steer"


@dataclass(frozen=True, slots=True)
class NewSignal:
    """A signal to store.  ``run_id`` and ``message_id`` are used if it wakes an idle thread.

    Attributes:
        terms: of the run that it starts, if it starts one now or later.
        sender: ``user:<id>`` or what else sent it.
        text: plain text; other parts of a steered send are not carried.
        author: of a steered send: the person whose message it stays.
    """

    id: str
    thread_id: str
    mode: SignalMode
    text: str
    sender: str
    run_id: str
    message_id: str
    terms: Terms = field(default_factory=Terms)
    author: str | None = None
    dedupe: str | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """A stored signal that nobody has read yet."""

    id: str
    thread_id: str
    mode: SignalMode
    text: str
    sender: str
    created_at: datetime
    author: str | None = None
    dedupe: str | None = None


@dataclass(frozen=True, slots=True)
class Signalled:
    """What became of a signal: ``woke`` says that an idle thread started ``run_id``."""

    woke: bool
    run_id: str | None


def signal_key(run_id: str, signal_id: str) -> str:
    """Return the key of the message that a signal became."""
    return f"{run_id}:user:{signal_id}"


def messages_of(run_id: str, signals: Sequence[Signal]) -> tuple[NewMessage, ...]:
    """Return the messages that waiting signals become, in order.

    A steered send stays a message of its own; the others come as one.
    """
    rows: list[NewMessage] = []
    said: list[Part] = []
    first: Signal | None = None
    for signal in signals:
        if signal.mode is SignalMode.STEER:
            rows.append(_row(run_id, signal, [text_part(signal.text)]))
        else:
            first = first or signal
            said.append(text_part(f"[message] {signal.text}\n"))
    if first is not None:
        rows.append(_row(run_id, first, said))
    return tuple(rows)


def _row(run_id: str, signal: Signal, parts: list[Part]) -> NewMessage:
    return NewMessage(
        id=signal.id,
        key=signal_key(run_id, signal.id),
        role=Role.USER,
        status=MessageStatus.COMPLETE,
        parts=encode(parts),
        author=signal.author if signal.mode is SignalMode.STEER else signal.sender,
        dedupe=signal.dedupe,
    )
