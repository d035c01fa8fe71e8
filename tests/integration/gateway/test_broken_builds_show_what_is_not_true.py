"""Builds that are broken on purpose: random courses notice, so that a quiet one means something."""

import faulthandler
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from app.gateway.write_ledger import WriteLedger
from app.tracking import flush
from app.tracking.vocabulary import Vocabulary
from tests.support.embedded_stores import Databases
from tests.support.reactive.course import Course, Untrue
from tests.support.reactive_world import create_tables, reactive_world

pytestmark = [
    pytest.mark.req("IMP-02"),
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning"),  # of what the drawn writes do
]

COURSES = 40
ROUNDS = 25

Patch = pytest.MonkeyPatch


def rows_are_told_by_what_they_are_only(patch: Patch) -> None:
    patch.setattr(flush.Flush, "look_before", lambda *_: None)
    patch.setattr(flush, "_needs_a_look", lambda _: False)


def what_is_replaced_is_not_told(patch: Patch) -> None:
    writes = flush.Flush.writes

    def forgetful(self: flush.Flush, work: object) -> object:
        kept = {state: how for state, how in work.states.items() if not how[1]}  # type: ignore[attr-defined]
        work.states = kept  # type: ignore[attr-defined]
        return writes(self, work)  # type: ignore[arg-type]

    patch.setattr(flush.Flush, "writes", forgetful)


def cascades_are_ignored(patch: Patch) -> None:
    patch.setattr(Vocabulary, "touched_with", lambda *_, **__: frozenset())


def counters_are_not_looked_at(patch: Patch) -> None:
    patch.setattr(WriteLedger, "missed", lambda *_: set())


@pytest.mark.parametrize(
    "breaks",
    [
        rows_are_told_by_what_they_are_only,
        what_is_replaced_is_not_told,
        cascades_are_ignored,
        counters_are_not_looked_at,
    ],
)
async def test_a_broken_build_is_noticed(
    databases: Databases, database_url: str, monkeypatch: Patch, breaks: Callable[[Patch], None]
) -> None:
    faulthandler.cancel_dump_traceback_later()  # every course has its own limit
    breaks(monkeypatch)
    for number in range(COURSES):
        course = Course(f"broken on purpose {number}")
        with databases.fresh(urlsplit(database_url).path[1:]) as url:
            create_tables(url, course.schema.metadata)
            async with reactive_world(url, course.schema.metadata, course.declared) as world:
                try:
                    await course.run(world, ROUNDS)
                except Untrue:
                    return
    pytest.fail(f"{COURSES} courses noticed nothing")
