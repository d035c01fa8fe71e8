"""Who may decide, until when, on what: named approvers, other agents' calls, false values."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.domain.storable import Json
from tests.browser.accessibility import expect_accessible
from tests.browser.test_the_chat_shows_what_is_stored import stored
from tests.support.dev_process import DevProcess, dev_process
from tests.support.screen import Screen

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]

FLAGS: dict[str, Json] = {"on": True, "count": 3, "note": "hello"}


@pytest.fixture(scope="module")
def dev() -> Iterator[DevProcess]:
    with dev_process(agents=Path(__file__).parent / "gated_agents") as process:
        yield process.start()


def call(name: str, **arguments: Json) -> str:
    """Return what lets the scripted model call this."""
    return f"call {name} {json.dumps(arguments)}"


def asked(tab: Screen, text: str) -> None:
    tab.send(text)
    tab.expect_status("awaiting_input")
    expect(tab.by("approval-card").first).to_be_attached()


def output(dev: DevProcess, tab: Screen) -> Json:
    rows = stored(dev, tab.key)["messages"]
    found: Json = next(row for row in rows if row["role"] == "tool")["parts"][0]["output"]
    return found


@pytest.mark.req("APR-11", "APR-13", "SDK-15")
def test_falsy_edits_arrive_as_they_were_given(dev: DevProcess, open_tab: Open, shot: Shot) -> None:
    tab = open_tab()
    asked(tab, call("set_flags", **FLAGS))
    expect(tab.by("terms")).to_contain_text("Approver: the owner of this conversation")
    expect(tab.by("terms").locator("time")).to_have_count(1)
    shot(tab, "expiring")
    tab.by("edit").click()
    falsy = {"on": False, "count": 0, "note": ""}
    tab.by("arguments").fill(json.dumps(falsy))
    tab.by("approve-edited").click()

    tab.expect_status("completed")
    assert output(dev, tab) == falsy
    expect(tab.by("changes")).to_have_text('on: true → falsecount: 3 → 0note: "hello" → ""')


@pytest.mark.req("APR-29", "APR-24", "IMP-26")
def test_a_card_that_waits_for_somebody_else_says_for_whom_and_cannot_be_decided(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab(width=390, height=780)
    tab.page.emulate_media(color_scheme="dark")
    asked(tab, call("sell_shop", price=1))

    expect(tab.by("terms")).to_contain_text("Approver: boss@example.com. That is not you.")
    expect(tab.by("tool-card")).to_have_attribute("data-state", "waiting")
    expect(tab.by("tool-card").locator(".progress")).to_have_text("Needs approval")
    expect(tab.by("status")).to_have_text("Needs approval")
    expect(tab.by("approve")).to_have_count(0)
    expect(tab.by("edit")).to_have_count(0)
    shot(tab, "not-mine")
    expect_accessible(tab)
    tab.by("stop").click()
    tab.expect_status("cancelled")
    expect(tab.by("decided")).to_contain_text("Not decided")
    expect(tab.by("approval-card")).to_have_count(0)


@pytest.mark.req("APR-29", "APR-21", "APR-22")
def test_one_of_two_approvers_is_enough(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    asked(tab, call("close_shop", day="Sunday"))

    expect(tab.by("terms")).to_contain_text("the owner of this conversation or boss@example.com")
    tab.by("approve").click()
    tab.expect_status("completed")
    assert output(dev, tab) == "closed on Sunday"


@pytest.mark.req("IMP-26")
def test_b39_what_an_agent_asks_that_was_given_work_is_decided_here_and_names_it(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    other = open_tab(tab.address)
    asked(tab, call("payer", message=call("pay", amount=5)))

    card = tab.by("child-approval")
    expect(card).to_contain_text("payer asks")
    expect(other.by("child-approval")).to_contain_text("pay")
    shot(tab, "child")
    expect_accessible(tab)
    card.get_by_test_id("approve").click()

    for each in (tab, other):
        each.expect_status("completed")
        expect(each.by("approval-card")).to_have_count(0)
        expect(each.by("child-approval")).to_contain_text("Approved by you in a browser")
    tab.page.reload()
    expect(tab.by("child-approval")).to_contain_text("Approved by you in a browser")
    shot(tab, "child-decided")
    # It stands where it was asked, before what was said afterwards.
    after = tab.by("child-approval").locator("xpath=following::*[@data-role='assistant']")
    expect(after).to_have_count(1)
