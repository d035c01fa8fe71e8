"""Tokens, tools, reload, a second tab, approval, stop, killed processes: the screen stays true."""

import os
import signal
from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.dev_process import DevProcess
from tests.support.screen import Screen
from tests.support.sessions import View
from tests.support.wait_until import wait_until_sync

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]


def stored(dev: DevProcess, key: str) -> View:
    token = httpx2.get(f"{dev.url}/dev/session").json()["token"]
    answer = httpx2.get(
        f"{dev.url}/agents/support/sessions/{key}", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.text
    view: View = answer.json()
    return view


@pytest.mark.req("SUB-01", "SUB-07", "SDK-05", "SDK-06", "SDK-10")
def test_tokens_stream_and_tools_appear_with_their_results(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    tab.send("What is the weather in Oslo and Bergen?")

    expect(tab.page.locator('[data-role="user"]')).to_have_count(1)
    expect(tab.by("streaming").first).to_be_attached()
    shot(tab, "streaming")
    tab.expect_status("completed")
    tab.expect_answer("Bergen")

    expect(tab.by("tool-card")).to_have_count(2)
    tab.expect_nothing_streams()
    tab.expect_stored(stored(dev, tab.key))
    shot(tab, "done")


@pytest.mark.req("SUB-03", "SUB-04")
def test_b48_a_reload_in_the_middle_and_a_second_tab_agree(dev: DevProcess, open_tab: Open) -> None:
    first = open_tab()
    first.send("Tell me a story")
    expect(first.by("streaming").first).to_be_attached()

    second = open_tab(first.address)
    expect(second.by("streaming").first).to_be_attached()
    first.page.reload()
    expect(first.by("streaming").first).to_be_attached()
    for tab in (first, second):
        tab.expect_status("completed")
        tab.expect_nothing_streams()

    view = stored(dev, first.key)
    assert first.message_ids() == second.message_ids()
    first.expect_stored(view)
    first.expect_answer(str(view["messages"][-1]["text"])[:40].strip())


@pytest.mark.req("APR-01", "APR-02", "APR-05", "SDK-07")
def test_a_refund_waits_for_a_person_in_every_tab(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    desk, phone = open_tab(), None
    desk.send("Refund order 1002, 60 dollars")
    desk.expect_status("awaiting_input")
    expect(desk.by("approval-card")).to_have_count(1)
    shot(desk, "desk")

    phone = open_tab(desk.address, width=390, height=780)
    expect(phone.by("approval-card")).to_have_count(1)
    shot(phone, "phone")
    phone.by("approve").click()

    for tab in (desk, phone):
        tab.expect_status("completed")
        expect(tab.by("approval-card")).to_have_count(0)
        tab.expect_stored(stored(dev, desk.key))
    refund = next(row for row in stored(dev, desk.key)["messages"] if row["role"] == "tool")
    assert refund["parts"][0]["isError"] is False


@pytest.mark.req("APR-06")
def test_a_denied_refund_is_told_to_the_model(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    tab.send("Refund order 1002, 60 dollars")
    tab.by("deny").click()
    tab.by("deny-confirm").click()
    tab.expect_status("completed")

    refund = next(row for row in stored(dev, tab.key)["messages"] if row["role"] == "tool")
    assert refund["parts"][0]["isError"] is True
    assert "not approved" in refund["parts"][0]["output"]


@pytest.mark.req("SDK-03", "RUN-03")
def test_b43_stop_keeps_what_was_seen_and_frees_the_thread(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    wait_until_sync(
        lambda: len(tab.by("streaming").first.inner_text()) > 40, description="a line is told"
    )
    tab.by("stop").click()
    tab.expect_status("cancelled")
    tab.expect_nothing_streams()

    last = stored(dev, tab.key)["messages"][-1]
    assert last["status"] == "interrupted"
    assert len(last["text"]) > 20
    tab.send("What is the weather in Oslo?")
    tab.expect_status("completed")
    tab.expect_answer("Oslo")
    tab.expect_stored(stored(dev, tab.key))


@pytest.mark.req("SUB-03")
def test_b43_closing_the_tab_stops_nothing(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    address, key = tab.address, tab.key
    tab.page.close()
    wait_until_sync(
        lambda: stored(dev, key)["status"] == "completed",
        description="the run ends by itself",
        timeout_s=30,
    )

    later = open_tab(address)
    later.expect_status("completed")
    later.expect_stored(stored(dev, key))
    assert stored(dev, key)["messages"][-1]["status"] == "complete"


@pytest.mark.req("SDK-03", "RUN-03")
@pytest.mark.parametrize("pause_ms", [0, 60, 180, 300])
def test_b44_stopped_around_the_first_token_and_reloaded_it_is_free_at_once(
    dev: DevProcess, open_tab: Open, pause_ms: int
) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    tab.page.wait_for_timeout(pause_ms)
    tab.by("stop").click()
    tab.expect_status("cancelled")
    tab.page.reload()
    tab.expect_status("cancelled")
    tab.expect_nothing_streams()

    tab.send("What is the weather in Oslo?")
    tab.expect_status("completed")
    tab.expect_answer("Oslo")
    tab.expect_stored(stored(dev, tab.key))


@pytest.mark.req("APR-01", "APR-05")
def test_b40_a_card_is_the_same_after_a_reload_and_for_who_comes_later(
    dev: DevProcess, open_tab: Open
) -> None:
    tab = open_tab()
    tab.send("Refund order 1002, 60 dollars")
    expect(tab.by("approval-card")).to_have_count(1)
    card = tab.by("approval-card").inner_text()
    tab.page.reload()
    other = open_tab(tab.address)

    for each in (tab, other):
        expect(each.by("approval-card")).to_have_count(1)
        assert each.by("approval-card").inner_text() == card
    other.by("deny").click()
    other.by("deny-confirm").click()
    for each in (tab, other):
        each.expect_status("completed")
        expect(each.by("approval-card")).to_have_count(0)


@pytest.mark.req("DUR-03", "SUB-03")
def test_a_worker_killed_in_the_stream_leaves_the_screen_true(
    dev: DevProcess, open_tab: Open
) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    for pid in dev.pids("worker")[:1]:
        os.kill(pid, signal.SIGKILL)
    tab.expect_status("completed")

    tab.expect_nothing_streams()
    tab.expect_stored(stored(dev, tab.key))


@pytest.mark.req("SUB-03", "IMP-04")
def test_a_gateway_killed_in_the_stream_is_reconnected_to(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    killed = dev.kill("gateway")
    dev.wait_for_another("gateway", killed)
    tab.expect_status("completed")

    expect(tab.by("connection")).to_have_attribute("data-state", "open")
    tab.expect_nothing_streams()
    tab.expect_stored(stored(dev, tab.key))
