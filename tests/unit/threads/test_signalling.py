"""What becomes of a message that somebody sends into a conversation."""

import pytest

from app.domain.errors import InvalidArgument
from app.domain.identity import ANONYMOUS, Identity
from app.domain.run import Terms
from app.domain.signal import SignalMode
from app.testing.world import CountedIds
from app.threads.signalling import checked_event, checked_payload, signal_of

TERMS = Terms(agent_version="7")


@pytest.mark.req("SIG-08")
def test_a_signal_says_who_sent_it() -> None:
    ids = CountedIds()

    ours = signal_of("t", "hi\x00", SignalMode.QUEUE, Identity("ann"), terms=TERMS, ids=ids)
    servers = signal_of("t", "hi", SignalMode.INJECT, ANONYMOUS, terms=TERMS, ids=ids)

    assert (ours.sender, ours.text) == ("user:ann", "hi\ufffd")
    assert servers.sender == "server"
    assert ours.terms == servers.terms == TERMS
    assert len({ours.id, ours.run_id, ours.message_id, servers.id}) == 4


@pytest.mark.parametrize("name", ["", "x" * 201, "tab\t"])
def test_an_event_is_called_something(name: str) -> None:
    with pytest.raises(InvalidArgument, match="an event's name"):
        checked_event(name)


def test_a_payload_is_stored_as_json_says_it() -> None:
    assert checked_payload({"a": (1, float("inf")), "b": None}) == '{"a":[1,null],"b":null}'
