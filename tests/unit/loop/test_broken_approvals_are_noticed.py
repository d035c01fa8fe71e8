"""Builds that are broken on purpose, one at a time: the drawn schedules have to notice each."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.domain.approval import NewDecision
from app.testing import memory_deciding
from tests.support.agent_world import no_backoff
from tests.support.decision_schedules import drawn, play
from tests.support.memory_desk import memory_desk

__all__ = ["no_backoff"]

SCHEDULES = 60


def _one_by_one(db: Any, thread_id: str, decisions: Sequence[NewDecision], *rest: Any) -> Any:  # noqa: ANN401
    return [memory_deciding.decide(db, thread_id, [each], *rest)[0] for each in decisions]


BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "a-later-decision-is-answered-like-the-first": (
        "app.domain.approval.NewDecision.repeats",
        lambda *_: True,
    ),
    "decided-whatever-was-shown": ("app.testing.memory_deciding.check_shown", lambda *_: None),
    "calls-do-not-wait": ("app.loop.toolset.Toolset._is_held", lambda *_: False),
    "refused-calls-run": ("app.loop.toolset._refusal", lambda _: None),
    "edits-are-forgotten": ("app.loop.toolset._edited", lambda _: None),
    "edits-are-not-checked": (
        "app.functions.builtin_approvals.ApprovalFunctions._check_edit",
        lambda *_: None,
    ),
    "everybody-may-decide": ("app.threads.approvers.may_decide", lambda *_, **__: True),
    "half-a-batch-is-decided": ("app.testing.memory_store.decide", _one_by_one),
}


async def play_all(patch: pytest.MonkeyPatch) -> None:
    async with memory_desk(patch) as desk:
        for seed in range(SCHEDULES):
            await play(desk, drawn(seed))


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_build_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    where, instead = BROKEN[name]
    with monkeypatch.context() as patched:
        patched.setattr(where, instead)
        with pytest.raises(AssertionError):
            await play_all(monkeypatch)
