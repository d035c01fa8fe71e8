"""Chunks and events are what the protocols' own models take, where these know them."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from ag_ui.core import Event as AgUiEvent
from pydantic import TypeAdapter
from pydantic_ai.ui.vercel_ai import response_types
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from app.dialects.ag_ui import AgUiRun
from app.dialects.ag_ui_messages import messages_of
from app.dialects.ai_sdk import UIMessageStream
from app.dialects.events import Ending, Refusal
from app.dialects.telling import Telling
from app.dialects.ui_messages import ui_messages
from app.domain.storable import Json
from tests.support.told_runs import RUN, StoredRun, Turn, events_in, tokens_of

NEWER = {"reset-step", "steering-message", "tool-approval-response"}
"""Chunks of version 7 that pydantic-ai, which speaks 6, has no models of."""

APPROVAL = {
    "id": "approval-1",
    "key": "t",
    "agent": "a",
    "runId": RUN,
    "toolCallId": "call_1_0",
    "name": "t",
    "input": {},
    "inputHash": "0",
    "editable": True,
    "approvers": [],
}
VIEW = {"runId": RUN, "runStatus": "awaiting_input", "waiting": [], "pendingApprovals": [APPROVAL]}
REFUSED = {"call_0_1": Refusal("approval-0", "no")}


def everything(telling: Telling, how: Any) -> bytes:  # noqa: ANN401  # one of the words
    """Return a telling in which all there is happens."""
    stored = StoredRun()
    stored.ask()
    told = telling.begin() + telling.rows(stored.rows, {})
    for token in tokens_of(0, 1, [("thinking", "hm"), ("text", "another try")]):
        told += telling.token(token)
    for token in tokens_of(0, 2, [("thinking", "hm"), ("text", "words")]):
        told += telling.token(token)
    told += telling.rows(stored.answer(0, Turn([("thinking", "hm"), ("text", "words")], 3)), {})
    told += telling.rows(stored.fill(0, 0, is_error=False), {})
    told += telling.rows(stored.fill(0, 1, is_error=True), REFUSED)
    told += telling.rows(stored.fill(0, 2, is_error=True), {})
    told += telling.rows([stored.add("user", [{"type": "text", "text": "and?"}])], {})
    told += telling.state({"a": 1}) + telling.state({"a": 2}) + telling.state(None)
    file = {"type": "file", "url": "https://x/y", "mediaType": "text/plain"}
    data = {"type": "data", "name": "card", "value": {"a": None}}
    row = stored.answer(1, Turn([], 1))
    row[0]["parts"] += [file, data]
    elsewhere = {**APPROVAL, "id": "approval-2", "runId": "below"}
    told += telling.rows(row, {})
    told += telling.thread({**VIEW, "pendingApprovals": [APPROVAL, elsewhere]})
    told += telling.thread(VIEW)
    return told + telling.end(Ending(how, "CODE", "why", "final", (APPROVAL,)))


def chunks(how: str) -> Iterator[dict[str, Any]]:
    return events_in(everything(UIMessageStream(RUN), how))


@pytest.mark.parametrize("how", ["completed", "failed", "cancelled", "parked"])
def test_chunks_fit_the_models(how: str) -> None:
    known = {
        get_args(model.model_fields["type"].annotation)[0]: model
        for model in vars(response_types).values()
        if isinstance(model, type)
        and issubclass(model, response_types.BaseChunk)
        and get_args(model.model_fields.get("type") and model.model_fields["type"].annotation)
    }
    told = list(chunks(how))

    kinds = {chunk["type"] for chunk in told}
    assert kinds >= NEWER
    assert {"data-card", "data-approval", "file", "tool-output-denied"} < kinds
    for chunk in told:
        if chunk["type"] in NEWER:
            continue
        model = known.get(chunk["type"], response_types.DataChunk)
        shown = json.loads(model.model_validate(chunk).encode(7))
        assert shown == {name: value for name, value in chunk.items() if value is not None}


def test_a_null_result_is_told_as_null() -> None:
    stored, telling = StoredRun(), UIMessageStream(RUN)
    stored.ask()
    telling.rows([*stored.rows, *stored.answer(0, Turn([], 1))], {})
    stored.fill(0, 0, is_error=False)
    stored.rows[-1]["parts"][0]["output"] = None

    (told,) = events_in(telling.rows(stored.rows, {}))

    assert told == {"type": "tool-output-available", "toolCallId": "call_0_0", "output": None}


@pytest.mark.parametrize("how", ["completed", "failed", "cancelled", "parked"])
@pytest.mark.parametrize("is_new", [True, False])
def test_events_fit_the_models(how: str, is_new: bool) -> None:  # noqa: FBT001  # a parameter
    telling = AgUiRun(RUN, thread_id="t", called="r", is_new=is_new)
    events: TypeAdapter[Any] = TypeAdapter(AgUiEvent)

    for event in events_in(everything(telling, how)):
        read = events.validate_python(event)
        assert not read.model_extra
        assert json.loads(read.model_dump_json(by_alias=True)) == event


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize("output", [{"late": False}, False, 0, ""])
def test_a_finished_event_carries_the_output(output: Json) -> None:
    telling = AgUiRun(RUN, thread_id="t", called="r", is_new=True)

    *_, finished = events_in(telling.end(Ending("completed", stopped="final", output=output)))

    assert (finished["type"], finished["result"]) == ("RUN_FINISHED", output)


def test_loaded_messages_fit_the_models() -> None:
    stored = StoredRun()
    stored.ask()
    stored.answer(0, Turn([("thinking", "hm"), ("text", "words")], 3))
    for index in range(3):
        stored.fill(0, index, is_error=index > 0)
    stored.answer(1, Turn([], 1))

    said, answered = ui_messages(stored.rows, REFUSED, [APPROVAL])

    assert said["id"] == "said-1"
    states = [part["state"] for part in answered["parts"] if "toolCallId" in part]
    assert states == [
        *("output-available", "output-denied", "output-error", "approval-requested"),
    ]
    for message in (said, answered):
        UIMessage.model_validate(message)


@pytest.mark.parametrize(
    "telling", [UIMessageStream(RUN), AgUiRun(RUN, thread_id="t", called="r", is_new=True)]
)
def test_a_line_break_of_unicode_does_not_break_an_event(telling: Telling) -> None:
    (token,) = tokens_of(0, 1, [("text", "a\u2028")])

    told = telling.token(token)

    assert b"\\u2028" in told
    assert len(told.decode().splitlines()) == told.decode().count("\n")


def test_a_run_whose_beginning_is_further_up_is_an_answer_alone() -> None:
    stored = StoredRun()
    stored.ask()
    stored.answer(0, Turn([("text", "words")], 2))
    stored.answer(1, Turn([("text", "more")]))

    (message,) = ui_messages(stored.rows[-2:], {})

    assert message["role"] == "assistant"
    assert message["parts"] == [
        {"type": "step-start"},
        {"type": "text", "text": "more", "state": "done"},
    ]


def test_what_no_run_has_written_and_a_run_that_was_taken_up_after_it_are_told_once() -> None:
    stored = StoredRun()
    hello = stored.add("assistant", [{"type": "text", "text": "hello"}], runId=None)
    stored.ask()
    stored.answer(0, Turn([("text", "wo")]), "interrupted")
    rules = [
        stored.add(role, [{"type": "text", "text": role}], runId=None)
        for role in ("user", "system", "system")
    ]
    stored.answer(0, Turn([("text", "words")]))

    loaded = ui_messages(stored.rows, {})
    listed = messages_of(stored.rows)

    texts = [
        (each["id"], [part["text"] for part in each["parts"] if "text" in part]) for each in loaded
    ]
    alone = [(each["id"], [each["text"]]) for each in rules]
    assert texts == [
        *((hello["id"], ["hello"]), ("said-1", ["go"]), (RUN, ["wo", "words"])),
        *alone,
    ]
    assert [(each.id, each.content) for each in listed if each.role != "assistant"] == [
        *(("said-1", "go"), *((each["id"], each["text"]) for each in rules)),
    ]
    assert (listed[0].id, listed[0].content) == (hello["id"], "hello")
