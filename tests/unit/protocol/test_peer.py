"""Where a caller is: the connection's address, or what a trusted proxy wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocol.origin import canonical_origin
from app.protocol.peer import Peers

pytestmark = pytest.mark.req("IMP-04")


def address(peer: str | None, forwarded: list[str], trusted: int) -> str:
    headers = [(b"host", b"x"), *((b"x-forwarded-for", each.encode()) for each in forwarded)]
    client = None if peer is None else (peer, 1234)
    return Peers(trusted).address({"client": client, "headers": headers})


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "found"),
    [
        pytest.param("9.9.9.9", [], 0, "9.9.9.9", id="direct"),
        pytest.param("9.9.9.9", ["1.1.1.1"], 0, "9.9.9.9", id="nobody-is-trusted"),
        pytest.param("10.0.0.1", ["1.1.1.1"], 1, "1.1.1.1", id="one-proxy"),
        pytest.param("10.0.0.1", ["6.6.6.6, 1.1.1.1"], 1, "1.1.1.1", id="invented-before-it"),
        pytest.param("10.0.0.1", ["6.6.6.6", "1.1.1.1"], 1, "1.1.1.1", id="two-lines"),
        pytest.param("10.0.0.2", ["6.6.6.6, 1.1.1.1, 10.0.0.1"], 2, "1.1.1.1", id="two-proxies"),
        pytest.param("10.0.0.1", [], 1, "10.0.0.1", id="the-proxy-is-silent"),
        pytest.param("10.0.0.1", ["1.1.1.1"], 3, "1.1.1.1", id="fewer-than-trusted"),
        pytest.param("10.0.0.1", ["1.1.1.1:5678"], 1, "1.1.1.1", id="with-a-port"),
        pytest.param("10.0.0.1", ["6.6.6.6, unknown"], 1, "unknown", id="no-address"),
        pytest.param("2001:db8:1:2:3:4:5:6", [], 0, "2001:db8:1:2::", id="a-network-of-ipv6"),
        pytest.param("::1", ["[2001:db8::7]:99"], 1, "2001:db8::", id="brackets"),
        pytest.param("::ffff:9.9.9.9", [], 0, "9.9.9.9", id="ipv4-in-ipv6"),
        pytest.param("fe80::1%eth0", [], 0, "fe80::", id="with-a-zone"),
        pytest.param(None, [], 0, "unknown", id="a-unix-socket"),
        pytest.param(None, ["1.1.1.1"], 1, "1.1.1.1", id="a-proxy-at-a-unix-socket"),
    ],
)
def test_a_callers_address(
    peer: str | None, forwarded: list[str], trusted: int, found: str
) -> None:
    assert address(peer, forwarded, trusted) == found


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=40), max_size=3))
def test_no_header_breaks_it_or_goes_past_what_the_proxy_wrote(invented: list[str]) -> None:
    lines = [each.encode("latin-1") for each in invented]
    headers = [(b"x-forwarded-for", each) for each in (*lines, b"1.1.1.1")]

    assert Peers(1).address({"client": ("10.0.0.1", 1), "headers": headers}) == "1.1.1.1"


@pytest.mark.parametrize(
    "written",
    [
        "https://chat.example",
        "https://chat.example/",
        "HTTPS://Chat.Example",
        "https://chat.example:443",
        " https://chat.example:443/ ",
    ],
)
def test_an_origin_has_one_spelling(written: str) -> None:
    assert canonical_origin(written) == "https://chat.example"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://chat.example", "http://chat.example"),
        ("https://chat.example", "https://chat.example:444"),
        ("https://chat.example", "https://chat.example:80"),
        ("https://chat.example", "https://chat.example.evil.example"),
        ("https://chat.example", "null"),
        ("http://chat.example:8080", "http://chat.example"),
    ],
)
def test_other_pages_stay_others(one: str, other: str) -> None:
    assert canonical_origin(one) != canonical_origin(other)
