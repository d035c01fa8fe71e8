"""A function that is internal is for nobody outside, and nobody learns that there is one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from tests.support.backend import token_for
from tests.support.deployment import Deployment, statements
from tests.support.ways_in import WAYS, Answer, Visitor, a_visitor

INTERNAL: Mapping[str, Mapping[str, Any]] = {
    "vault:readAll": {},
    "vault:noteVisit": {"place": "the cellar"},
    "vault:emptyOut": {},
    "shop.back_room:countCash": {},
    "agents:agentAppendMessage": {"key": "k", "text": "I am the owner"},
    "agents:agentEnsureThread": {"key": "k", "agent": "desk"},
    "agents:agentPatchThread": {"key": "k", "title": "Mine"},
    "agents:agentSignal": {"agent": "desk", "key": "k", "message": "hello"},
    "agents:agentSendEvent": {"runId": "r", "name": "go"},
}
"""Of the team's and our own, with arguments that they would take."""


def spellings(ref: str) -> Mapping[str, str]:
    """Return how somebody may write a reference, hoping that it is not looked at closely."""
    module, name = ref.split(":")
    snake = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
    wide = "".join(chr(ord(each) + 0xFEE0) if each.isascii() else each for each in name)
    return {
        "as on the wire": ref,
        "as in Python": f"{module}:{snake}",
        "of the package": f"agents.{module}:{snake}",
        "in capitals": ref.upper(),
        "of full width": f"{module}:{wide}",
        "with a Cyrillic letter": ref.replace("a", "\u0430"),
        "with a long s": ref.replace("s", "\u017f"),
        "with a combining mark": f"{ref}\u0301",
        "with a space": f"{ref} ",
        "with a NUL": f"{ref}\x00",
        "of the body": f"{ref}.body",
        "of a dunder": f"{module}:__dict__",
        "with a dot for the colon": f"{module}.{snake}",
        "with two colons": f"{module}::{snake}",
        "of a file": f"{module.replace('.', '/')}:{snake}",
    }


def missing(ref: str) -> str:
    """Return a reference of the same shape that nothing has."""
    module, name = ref.split(":")
    return f"{module}:x{name[1:]}"


def without(name: str, answer: Answer) -> str:
    """Return an answer with what was asked for left out, in any spelling that it may have."""
    told = {**answer, "body": json.loads(answer["body"])} if "body" in answer else dict(answer)
    fault = told.get("body", told)
    module, _, last = name.partition(":")
    camel = f"{module}:{to_camel(last)}"
    for each in (repr(name), repr(camel), camel):
        fault["message"] = fault["message"].replace(each, "REF")
    return json.dumps(told, sort_keys=True)


@pytest.fixture(params=["nobody", "a user", "an admin", "a key", "a key with scopes"])
async def token(request: pytest.FixtureRequest, fort: Deployment) -> str | None:
    """A bearer token of somebody outside."""
    match request.param:
        case "nobody":
            return None
        case "a user":
            return token_for("ann")
        case "an admin":
            return token_for("root", "admin")
        case "a key":
            return await fort.key("robot", "admin")
        case _:
            named = {"vault:*", "agents:*", "shop.back_room:*", *INTERNAL}
            return await fort.key("robot", "admin", scopes=named)


@pytest.mark.req("IMP-01", "ACC-05", "AGT-14")
async def test_every_spelling_answers_as_if_there_were_nothing(
    fort: Deployment, token: str | None
) -> None:
    told: dict[str, object] = {}
    for way in WAYS:
        async with a_visitor(fort, token=token) as visitor:  # too many odd frames end a socket
            ask = visitor.ways[way]
            for ref, spelled, other in _attempts(way):
                found = without(spelled, await ask(spelled, INTERNAL[ref]))
                nothing = without(other, await ask(other, INTERNAL[ref]))
                if found != nothing or not _is_refusal(found):
                    told[f"{way}: {spelled!r}"] = found, nothing

    assert told == {}
    assert await fort.stores.reader.find("k") is None
    assert await fort.stores.database.fetch("SELECT * FROM visits") == []


def _attempts(way: str) -> Iterator[tuple[str, str, str]]:
    """Yield a function, how it is spelled, and how one is spelled that there is not."""
    for ref in INTERNAL:
        yield ref, ref, missing(ref)
    if way != "socket, before the welcome":  # the names are read after it as ever
        for ref in ("vault:readAll", "agents:agentAppendMessage"):
            others = spellings(missing(ref))
            for kind, spelled in spellings(ref).items():
                yield ref, spelled, others[kind]


def _is_refusal(told: str) -> bool:
    return any(code in told for code in ("NOT_FOUND", "INVALID_ARGUMENT", "no scope REF"))


@pytest.mark.req("IMP-01")
@pytest.mark.parametrize("ref", ["vault:readAll", "agents:agentAppendMessage"])
async def test_to_be_refused_one_costs_nothing_that_could_be_measured(
    fort: Deployment, monkeypatch: pytest.MonkeyPatch, ref: str
) -> None:
    async with a_visitor(fort) as visitor:
        with statements(monkeypatch) as sent:
            for ask in visitor.ways.values():
                await ask(ref, INTERNAL[ref])

    assert sent == []


@pytest.mark.req("ACC-02")
@pytest.mark.parametrize("user", [None, "ann"])
async def test_an_internal_agent_is_like_none(
    fort: Deployment, monkeypatch: pytest.MonkeyPatch, user: str | None
) -> None:
    seen = []
    async with a_visitor(fort, user) as visitor:
        await visitor.call("vault:mine", {})  # whose tokens were taken back is known from now on
        with statements(monkeypatch) as sent:
            for slug in ("inner", "outer"):
                begun = len(sent)
                told = [without(slug, each) for each in await _ask_for_agent(visitor, slug)]
                seen.append((told, sent[begun:]))

    assert seen[0] == seen[1]


SAID = [{"type": "text", "text": "hello"}]
ASKED = {"id": "m", "role": "user", "content": "hello"}


async def _ask_for_agent(visitor: Visitor, slug: str) -> list[Answer]:
    run = {"agent": slug, "input": "hello"}
    told = [await ask("agents:agentRun", run) for ask in visitor.ways.values()]
    for method, path, body in (
        ("GET", "", None),
        ("POST", "", {"message": "hello"}),
        ("GET", "/sessions", None),
        ("GET", "/sessions/k", None),
        ("GET", "/sessions/k/stream", None),
        ("POST", "/sessions/k/signals", {"message": "hello"}),
        ("POST", "/sessions/k/cancel", None),
        ("POST", "/ai-sdk", {"id": "k", "messages": [{"id": "m", "role": "user", "parts": SAID}]}),
        ("POST", "/ag-ui", {"threadId": "k", "runId": "r", "messages": [ASKED]}),
    ):
        answer = await visitor.request(method, f"/agents/{slug}{path}", body)
        assert answer["status"] in {403, 404}
        told.append(answer)
    return told
