"""How a thread is shown: what waits, in the order in which it will be read, and the output."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.branching import Branch, Branches
from app.domain.ports import ThreadSnapshot, WaitingSend
from app.domain.storable import Json
from app.domain.thread import Thread, ThreadStatus
from app.protocol.rows import thread_view as declared
from app.threads.views import thread_view

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.mark.req("CON-04", "SIG-03")
def test_what_waits_is_shown_with_its_place() -> None:
    thread = Thread("t", "k", "support", ThreadStatus.RUNNING, "r", 1, 1, 1, 0)
    waiting = [
        WaitingSend("s1", is_run=False, text="more news", created_at=AT),
        WaitingSend("r2", is_run=True, text="and then?", created_at=AT, author="ann", dedupe="d"),
    ]

    shown = thread_view(ThreadSnapshot(thread, [], [], waiting))

    at = "2026-01-02T03:04:05.678+00:00"
    assert shown["waiting"] == [
        {"id": "s1", "kind": "signal", "text": "more news", "position": 1, "createdAt": at},
        {
            "id": "r2",
            "kind": "run",
            "text": "and then?",
            "position": 2,
            "createdAt": at,
            "author": "ann",
            "dedupe": "d",
        },
    ]


def test_a_thread_that_nothing_waits_for_says_so() -> None:
    thread = Thread("t", "k", "support", ThreadStatus.COMPLETED, None, 1, 1, 1, 0)

    assert thread_view(ThreadSnapshot(thread, [], []))["waiting"] == []


def test_a_root_shows_its_branches_by_key_and_a_branch_its_root() -> None:
    thread = Thread("t", "k", "support", ThreadStatus.COMPLETED, None, 1, 1, 1, 0, created_at=AT)
    thread = replace(thread, updated_at=AT)
    threads = [Branch("t", "k", None, 0, AT), Branch("b", "below", "t", 2, AT)]

    root = thread_view(ThreadSnapshot(thread, [], [], branches=Branches("b", threads)))
    branch = thread_view(ThreadSnapshot(thread, [], [], conversation="above"))
    alone = thread_view(ThreadSnapshot(thread, [], []))

    at = "2026-01-02T03:04:05.678+00:00"
    assert root["branches"] == {
        "selected": "below",
        "list": [
            {"key": "k", "parent": None, "shared": 0, "createdAt": at},
            {"key": "below", "parent": "k", "shared": 2, "createdAt": at},
        ],
    }
    assert branch["conversation"] == "above"
    assert [set(each) - set(alone) for each in (root, branch)] == [{"branches"}, {"conversation"}]
    for each in (root, branch, alone):
        assert declared.dump_python(declared.validate_python(each)) is not None


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize("output", [{"urgent": True}, [], "", 0, False])
def test_a_thread_shows_the_output_and_says_nothing_of_none(output: Json) -> None:
    thread = Thread("t", "k", "support", ThreadStatus.COMPLETED, None, 1, 1, 1, 0)

    assert thread_view(ThreadSnapshot(thread, [], [], output=output))["output"] == output
    assert "output" not in thread_view(ThreadSnapshot(thread, [], []))
