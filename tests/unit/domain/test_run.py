"""What may follow what, and which numbers it moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import IllegalTransition
from app.domain.run import (
    FINAL,
    LIVE,
    Change,
    Claimed,
    Ended,
    FactStored,
    Parked,
    Promoted,
    Released,
    Retried,
    RunEvent,
    RunStatus,
    advance,
)

S = RunStatus

TABLE = [
    pytest.param(S.PENDING, Promoted(), Change(S.QUEUED), id="a-held-back-run-is-promoted"),
    pytest.param(S.QUEUED, Claimed(), Change(S.RUNNING, epoch=1), id="claim"),
    pytest.param(S.RUNNING, Released(), Change(S.QUEUED, epoch=1), id="hand-over"),
    pytest.param(S.RUNNING, Parked(awaits_input=True), Change(S.AWAITING_INPUT), id="park"),
    pytest.param(S.RUNNING, Parked(awaits_input=False), Change(S.WAITING), id="park-on-machine"),
    pytest.param(
        S.AWAITING_INPUT, FactStored(condition_met=True), Change(S.QUEUED, wakes=1), id="wake"
    ),
    pytest.param(
        S.AWAITING_INPUT,
        FactStored(condition_met=False),
        Change(S.AWAITING_INPUT, wakes=1),
        id="one-of-several-decisions",
    ),
    pytest.param(S.RUNNING, FactStored(condition_met=True), Change(S.RUNNING, wakes=1), id="fact"),
    pytest.param(S.RUNNING, Ended(S.COMPLETED), Change(S.COMPLETED, epoch=1), id="complete"),
    pytest.param(S.QUEUED, Ended(S.FAILED), Change(S.FAILED, epoch=1), id="unknown-agent"),
    pytest.param(S.WAITING, Ended(S.CANCELLED), Change(S.CANCELLED, epoch=1), id="cancel"),
    pytest.param(S.PENDING, Ended(S.CANCELLED), Change(S.CANCELLED), id="cancel-a-held-back-run"),
    pytest.param(S.FAILED, Retried(), Change(S.QUEUED, epoch=1, wakes=1), id="retry"),
]

EVENTS: list[RunEvent] = [
    Promoted(),
    Claimed(),
    Released(),
    Parked(awaits_input=True),
    FactStored(condition_met=True),
    Ended(S.COMPLETED),
    Ended(S.CANCELLED),
]


@pytest.mark.req("RUN-13")
@pytest.mark.parametrize(("status", "event", "change"), TABLE)
def test_the_table(status: RunStatus, event: RunEvent, change: Change) -> None:
    assert advance(status, event) == change


@given(st.sampled_from(RunStatus), st.lists(st.sampled_from(EVENTS), max_size=12))
def test_the_numbers_never_go_back_and_every_move_out_of_running_is_fenced(
    status: RunStatus, events: list[RunEvent]
) -> None:
    for event in events:
        try:
            change = advance(status, event)
        except IllegalTransition:
            continue
        assert change.epoch >= 0
        assert change.wakes >= 0
        if change.status is S.RUNNING and status is not S.RUNNING:
            assert change.epoch == 1
        if change.status in FINAL and status in LIVE:
            assert change.epoch == 1
        status = change.status
