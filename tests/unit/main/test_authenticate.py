"""What AUTHENTICATE names is found and checked at start; anything else refuses in one sentence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.identity import Identity
from app.main.authenticate import custom_tokens
from app.main.load_agents import load
from app.main.refusal import Refusal

pytestmark = pytest.mark.req("IMP-05")

AUTH = """
from app import Identity

async def judge(token: str) -> Identity | None:
    return Identity("ann") if token == "good" else None

async def with_more(token: str, *, realm: str = "main") -> Identity | None:
    return None

def not_async(token: str) -> Identity | None:
    return None

async def takes_nothing() -> Identity | None:
    return None

async def takes_two(token: str, realm: str) -> Identity | None:
    return None

number = 7
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[None]:
    """Load a folder with a module ``auth``; forget it afterwards."""
    before = {name: module for name, module in sys.modules.items() if name.startswith("agents")}
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "auth.py").write_text(AUTH)
    load(tmp_path / "team")
    yield
    for name in [each for each in sys.modules if each.startswith("agents")]:
        del sys.modules[name]
    sys.modules.update(before)


async def test_the_function_that_is_named_judges_tokens() -> None:
    found = await custom_tokens("agents.auth:judge").authenticate("good")

    assert found == Identity("ann")
    custom_tokens("agents.auth:with_more")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("agents.auth", "MODULE:FUNCTION"),
        ("agents.auth:", "MODULE:FUNCTION"),
        ("os.path:exists", "MODULE:FUNCTION"),
        ("auth:judge", "MODULE:FUNCTION"),
        ("agents.login:judge", "no module agents.login"),
        ("agents.auth:missing", "has no missing"),
        ("agents.auth:not_async", "async"),
        ("agents.auth:number", "async"),
        ("agents.auth:Identity", "async"),
        ("agents.auth:takes_nothing", "one argument"),
        ("agents.auth:takes_two", "one argument"),
    ],
)
def test_what_could_not_judge_a_token_refuses_to_start(name: str, says: str) -> None:
    with pytest.raises(Refusal, match=says) as refused:
        custom_tokens(name)

    assert "\n" not in str(refused.value)
    assert name in str(refused.value)
