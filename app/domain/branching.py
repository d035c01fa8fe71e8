"""Forks and branches of a conversation: what shares its beginning with what.

A *conversation* is a root thread and its *branches*: threads of their own whose first messages are
copies.  One of them is selected: the one that every tab shows.  What a branch was made from stays
as it is, always.  A *fork* is a new conversation that begins with copies.

Pure.  ``app.store.branching`` makes them under the locks; ``tests/unit/domain/test_branching.py``
holds the laws:

* what a branch hangs below shares less with its own parent than the branch shares with it, so that
  every point at which the tree divides is in exactly one thread;
* no copy ends between a call and its result: a history that ends there would be taken as decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from app.domain.errors import InvalidArgument
from app.domain.message import Part, text_part
from app.domain.storable import Json

MAX_BRANCHES: Final = 500
"""Of one conversation: all of them are in what every tab of it is shown."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A thread of a conversation.

    Attributes:
        parent: the id of the thread that it hangs below; ``None``: it is the root.
        shared: how many of its first messages are the parent's.
    """

    id: str
    key: str
    parent: str | None
    shared: int
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Branches:
    """The threads of a conversation, the root first, then oldest first.

    Attributes:
        selected: the id of the one that is shown.
    """

    selected: str
    threads: Sequence[Branch]

    def key_of(self, thread_id: str | None) -> str | None:
        """Return the key of one of them."""
        return next((each.key for each in self.threads if each.id == thread_id), None)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread, and the conversation that it belongs to.

    Attributes:
        owner: of all its threads.
        selected_id: the thread that is shown.
    """

    thread_id: str
    agent: str
    owner: str | None
    root_id: str
    root_key: str
    selected_id: str

    @property
    def shown_id(self) -> str:
        """Return the thread that is meant by its key: a root's means what is shown."""
        return self.selected_id if self.thread_id == self.root_id else self.thread_id


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked, and where.

    Attributes:
        thread_id: where its messages were found: its own thread, or a copy's.
        message_id: its first message.
        shared: how many messages stand before that.
        parts: the input.
        policy: what its start said.
    """

    thread_id: str
    run_id: str
    message_id: str
    shared: int
    agent: str
    parts: Sequence[Part]
    policy: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread hangs; ``parent`` is ``None`` of the root."""

    parent: str | None
    shared: int


def parent_of(places: Mapping[str, Place], source: str, shared: int) -> str:
    """Return below which thread a branch hangs that shares so many messages with ``source``.

    Messages that ``source`` shares with its own parent are the parent's: a branch that takes no
    more than those divides there.
    """
    while (place := places[source]).parent is not None and shared <= place.shared:
        source = place.parent
    return source


@dataclass(frozen=True, slots=True)
class Line:
    """A message as far as a cut is concerned.

    Attributes:
        calls: ids of the calls that it asks for.
        answers: id of the call whose result it is.
        is_open: whether that result is still to come.
    """

    id: str
    seq: int
    calls: Sequence[str] = ()
    answers: str | None = None
    is_open: bool = False


def check_cut(lines: Sequence[Line], last: int) -> None:
    """Let a copy end with the message ``last``, or raise.

    Args:
        lines: the messages of the run that is cut, in order; those of others are whole.
        last: the ``seq`` of the last message that is copied.

    Raises:
        InvalidArgument: a call's result would be missing; says where a cut is possible.
    """
    asking: Line | None = None
    missing: dict[str, Line | None] = {}
    for line in lines:
        if line.seq <= last and line.calls:
            asking, missing = line, dict.fromkeys(line.calls)
        elif line.answers in missing:
            if line.seq <= last and not line.is_open:
                del missing[line.answers]
            else:
                missing[line.answers] = line
    if not missing or asking is None:
        return
    results = [line for line in missing.values() if line is not None and not line.is_open]
    data: dict[str, object] = {"before": asking.id}
    sentence = f"cut before message {asking.id}, which asks for calls whose results are missing"
    if len(results) == len(missing):
        data["after"] = max(results, key=lambda line: line.seq).id
        sentence += f", or after message {data['after']}, the last of them"
    raise InvalidArgument(sentence, data)


def input_of(messages: Sequence[Sequence[Part]]) -> list[Part]:
    """Return what a run was asked as one message's parts; several messages stay lines apart."""
    parts: list[Part] = []
    for said in messages:
        if parts and not str(parts[-1].get("text", "\n")).endswith("\n"):
            parts.append(text_part("\n"))
        parts.extend(said)
    return parts


def with_text(parts: Sequence[Part], text: str) -> list[Part]:
    """Return an input with another text; what is no text stays."""
    return [text_part(text), *(part for part in parts if part.get("type") != "text")]
