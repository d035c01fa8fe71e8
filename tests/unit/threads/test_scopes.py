"""A key with scopes may use what they name, in either spelling, and nothing beside it."""

from contextlib import nullcontext

import pytest

from app.domain.errors import Forbidden, InvalidArgument
from app.domain.identity import Identity
from app.threads.scopes import as_scope, check_scope

pytestmark = pytest.mark.req("IMP-05")


@pytest.mark.parametrize(
    ("scopes", "ref", "may"),
    [
        (None, "chat:startRun", True),
        ({"chat:startRun"}, "chat:startRun", True),
        ({"chat:startRun"}, "chat:start_run", True),
        ({"chat:startRun"}, "chat:startRuns", False),
        ({"chat:startRun"}, "shop.chat:startRun", False),
        ({"chat:*"}, "chat:anything", True),
        ({"chat:*"}, "chats:anything", False),
        ({"chat:*"}, "chat.inner:anything", False),
        (set(), "chat:startRun", False),
        ({"agents:*"}, "chat:startRun", False),
    ],
)
def test_a_scope_names_what_may_be_used(scopes: set[str] | None, ref: str, may: bool) -> None:  # noqa: FBT001
    caller = Identity("robot", frozenset({"admin"}), None if scopes is None else frozenset(scopes))

    with nullcontext() if may else pytest.raises(Forbidden, match=r"has no scope \S*chat\S*:"):
        check_scope(caller, ref)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("chat:start_run", "chat:startRun"),
        ("chat:startRun", "chat:startRun"),
        ("chat:*", "chat:*"),
        ("a.b:c", "a.b:c"),
    ],
)
def test_a_scope_is_kept_in_one_spelling(text: str, kept: str) -> None:
    assert as_scope(text) == kept


@pytest.mark.parametrize(
    "text", ["", "*", "chat", "chat:", ":x", "*:*", "chat:x y", "functions:a:b"]
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="no scope"):
        as_scope(text)
