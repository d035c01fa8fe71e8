"""However a run is streamed, cut, repeated and read anew: each client ends with what is stored.

Tokens are dropped, repeated and broken off by another attempt; rows come in deltas and whole
snapshots, more than once.  The clients fail at the first chunk that theirs would not take.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.ag_ui import AgUiRun
from app.dialects.ag_ui_messages import messages_of
from app.dialects.ai_sdk import UIMessageStream
from app.dialects.events import Ending, Refusal
from app.dialects.story import Seen
from app.dialects.telling import Telling
from app.dialects.ui_messages import ui_messages
from tests.support.told_runs import (
    RUN,
    AgentClient,
    ChatClient,
    StoredRun,
    Turn,
    events_in,
    tokens_of,
)

REFUSED = {"call_0_0": Refusal("approval-1")}
END = Ending("completed", stopped="final")

OTHER_WORDS = [("text", "b"), ("thinking", "aa"), ("text", "ab\U0001f600")]

_chance = st.randoms(use_true_random=False)
_words = st.text(alphabet="ab\U0001f600", min_size=1, max_size=9)
_said = st.lists(st.tuples(st.sampled_from(["text", "thinking"]), _words), max_size=3)
_turns = st.lists(st.builds(Turn, _said, st.integers(0, 2)), min_size=1, max_size=3)


class Play:
    """A run that is written while it is told."""

    def __init__(self, chance: Random, telling: Telling, client: Any) -> None:  # noqa: ANN401  # either client
        self.chance = chance
        self.telling = telling
        self.client = client
        self.stored = StoredRun()
        self.stored.ask()
        self._owed: list[dict[str, Any]] = []

    def run(self, turns: Sequence[Turn]) -> None:
        self.client.take(self.telling.begin())
        self.client.take(self.telling.rows(list(self.stored.rows), {}))
        attempt = 1
        for number, turn in enumerate(turns):
            for _ in range(self.chance.choice([0, 0, 1, 2])):
                cut_off = turn.said[: self.chance.randint(0, len(turn.said))]
                self._speak(number, attempt, [*cut_off, self.chance.choice(OTHER_WORDS)])
                attempt += 1
            if self.chance.random() < 0.2:  # cancelled, and tried again
                self._tell(self.stored.answer(number, Turn(turn.said[:1]), "interrupted"))
                attempt += 100
            self._speak(number, attempt, turn.said)
            self._tell(self.stored.answer(number, turn))
            for index in self.chance.sample(range(turn.calls), turn.calls):
                self._tell(self.stored.fill(number, index, is_error=number == index == 0))
        self.client.take(self.telling.rows(self.stored.rows, REFUSED))
        self.client.take(self.telling.end(END))

    def _speak(self, number: int, attempt: int, said: Sequence[tuple[str, str]]) -> None:
        """Say it, with pieces that are lost, or that come twice."""
        trouble = self.chance.choice([[1], [1, 1, 1, 2], [1, 1, 1, 0, 2]])
        for token in tokens_of(number, attempt, said):
            for _ in range(self.chance.choice(trouble)):
                self.client.take(self.telling.token(token))

    def _tell(self, changed: list[dict[str, Any]]) -> None:
        """Bring the rows: as a delta, in a whole snapshot, both, or with the next ones."""
        self._owed += changed
        how = self.chance.choice(["delta", "delta", "snapshot", "both", "later"])
        if how in {"delta", "both"}:
            self.client.take(self.telling.rows(self._owed, REFUSED))
        if how in {"snapshot", "both"}:
            self.client.take(self.telling.rows(self.stored.rows, REFUSED))
        if how != "later":
            self._owed = []


@given(chance=_chance, turns=_turns)
def test_a_chat_has_what_a_page_that_is_loaded_anew_has(chance: Random, turns: list[Turn]) -> None:
    client = ChatClient()
    play = Play(chance, UIMessageStream(RUN), client)

    play.run(turns)

    _, loaded = ui_messages(play.stored.rows, REFUSED)
    assert client.id == loaded["id"] == RUN
    assert client.parts == loaded["parts"]


@given(chance=_chance, turns=_turns, is_new=st.booleans())
def test_an_agent_has_what_the_snapshot_has(
    chance: Random,
    turns: list[Turn],
    is_new: bool,  # noqa: FBT001  # drawn
) -> None:
    client = AgentClient()
    telling = AgUiRun(RUN, thread_id="t", called="r", is_new=is_new)
    play = Play(chance, telling, client)

    play.run(turns)

    assert _by_id(client.messages) == _by_id(
        [each.model_dump(by_alias=True) for each in messages_of(play.stored.rows)]
    )
    assert client.last["outcome"] == {"type": "success"}


def _by_id(messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return messages by id; one that only calls says nothing, or the empty text."""
    assert len({each["id"] for each in messages}) == len(messages)
    return {each["id"]: {**each, "content": each.get("content", "")} for each in messages}


@given(chance=_chance, turns=_turns)
def test_who_goes_on_with_a_message_is_told_the_rest_and_no_more(
    chance: Random, turns: list[Turn]
) -> None:
    stored = StoredRun()
    stored.ask()
    cut = chance.randrange(len(turns))
    for number, turn in enumerate(turns[: cut + 1]):
        stored.answer(number, turn)
        answered = turn.calls if number < cut else chance.randint(0, turn.calls)
        for index in range(answered):
            stored.fill(number, index, is_error=False)
    (_, begun) = ui_messages(stored.rows, {})
    calls = {part["toolCallId"]: part["state"] for part in begun["parts"] if "toolCallId" in part}
    seen = Seen(
        steps=cut + 1,
        answered=frozenset(call for call, state in calls.items() if state == "output-available"),
    )

    for index in range(turns[cut].calls):
        stored.fill(cut, index, is_error=False)
    for number, turn in enumerate(turns[cut + 1 :], start=cut + 1):
        stored.answer(number, turn)
        for index in range(turn.calls):
            stored.fill(number, index, is_error=False)
    client, telling = ChatClient(begun["parts"]), UIMessageStream(RUN, seen)
    told = telling.begin() + telling.rows(stored.rows, {}) + telling.end(END)
    client.take(told)

    (_, whole) = ui_messages(stored.rows, {})
    assert client.parts == whole["parts"]
    outputs = [each for each in events_in(told) if each["type"] == "tool-output-available"]
    assert seen.answered.isdisjoint(each["toolCallId"] for each in outputs)


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_live_words_are_told_as_they_come_and_only_once(kind: str) -> None:
    client, telling = ChatClient(), UIMessageStream(RUN)
    heard = []

    for token in tokens_of(0, 1, [(kind, "a rope")]):
        client.take(telling.token(token))
        client.take(telling.token(token))
        heard.append(client.parts[-1]["text"])

    assert heard == ["a ", "a ro", "a rope"]


def test_a_late_word_of_an_attempt_that_was_given_up_is_not_told() -> None:
    client, telling = ChatClient(), UIMessageStream(RUN)
    first, late = tokens_of(0, 1, [("text", "old!")])
    for token in (first, *tokens_of(0, 2, [("text", "ne")])):
        client.take(telling.token(token))

    assert telling.token(late) == b""
    assert client.parts[-1]["text"] == "ne"


def test_nothing_is_told_of_another_run_and_of_a_turn_that_is_stored() -> None:
    stored, telling = StoredRun(), UIMessageStream(RUN)
    stored.ask()
    telling.rows([*stored.rows, *stored.answer(0, Turn([("text", "said")]))], {})
    (token,) = tokens_of(0, 9, [("text", "x")])

    assert telling.token(token) == b""
    assert telling.token({**token, "run": "another", "turn": 1}) == b""
    assert telling.rows([{**stored.rows[1], "id": "x", "runId": "another"}], {}) == b""


def test_a_message_that_was_put_in_bears_the_senders_id_live_and_anew() -> None:
    stored = StoredRun()
    stored.ask()
    telling, chat = AgUiRun(RUN, thread_id="t", called="r", is_new=False), UIMessageStream(RUN)
    agent, page = AgentClient(), ChatClient()
    agent.take(telling.rows(stored.rows, {}))
    page.take(chat.rows(stored.rows, {}))
    put_in = [stored.add("user", [{"type": "text", "text": "and?"}], dedupe="said-2#ropewalk:0")]
    agent.take(telling.rows(put_in, {}))
    page.take(chat.rows(put_in, {}))

    assert [each["id"] for each in agent.messages] == ["said-1", "said-2"]
    assert [each.id for each in messages_of(stored.rows)] == ["said-1", "said-2"]
    assert [part["id"] for part in page.parts] == ["said-2"]
    seen = UIMessageStream(RUN, Seen(interjected=frozenset({"said-2"})))
    assert seen.rows(stored.rows, {}) == b""
