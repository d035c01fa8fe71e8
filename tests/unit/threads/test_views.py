"""How a thread is shown: what waits, in the order in which it will be read."""

from datetime import UTC, datetime

import pytest

from app.domain.ports import ThreadSnapshot, WaitingSend
from app.domain.thread import Thread, ThreadStatus
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
