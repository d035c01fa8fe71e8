"""People in the loop, in a browser: shown alike to everybody, decided once, never reopened."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessibility import expect_accessible
from tests.browser.test_the_chat_shows_what_is_stored import stored
from tests.support.dev_process import DevProcess
from tests.support.screen import FINISH_MS, Screen

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]

REFUND = "Refund order 1002, 60 dollars"
THREE = "Refund orders 1001, 1002 and 1003, 60 dollars each"


def asked(tab: Screen, text: str = REFUND, *, cards: int = 1) -> Locator:
    """Say something and return the cards that wait for it."""
    tab.send(text)
    tab.expect_status("awaiting_input")
    expect(tab.by("approval-card")).to_have_count(cards)
    return tab.by("approval-card")


def reject(tab: Screen, reason: str = "") -> None:
    tab.by("deny").first.click()
    tab.by("reason").fill(reason)
    tab.page.keyboard.press("Enter")


def results(dev: DevProcess, tab: Screen) -> list[dict[str, Any]]:
    """Return what the tools answered, in order."""
    rows = stored(dev, tab.key)["messages"]
    return [row["parts"][0] for row in rows if row["role"] == "tool"]


def waiting_title(count: int) -> re.Pattern[str]:
    return re.compile(rf"^\({count}\) ")


def expect_no_sideways_scroll(tab: Screen) -> None:
    widths = tab.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    inner = tab.page.locator(".scroll").evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert inner[0] <= inner[1]


@pytest.mark.req("APR-01", "APR-05", "APR-31", "APR-32", "IMP-26")
def test_a_decision_shows_in_every_tab_with_who_made_it_where_when_and_why(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    asked(tab)
    other = open_tab(tab.address)
    expect(other.by("approval-card")).to_have_count(1)
    reject(other, "the receipt is missing")

    for each in (tab, other):
        each.expect_status("completed")
        expect(each.by("approval-card")).to_have_count(0)
        decided = each.by("decided")
        expect(decided).to_have_count(1)
        expect(decided).to_have_attribute("data-decision", "denied")
        expect(decided).to_contain_text("Rejected by you in a browser")
        expect(decided).to_contain_text("the receipt is missing")
        expect(decided.locator("time")).to_have_count(1)
    shot(tab, "decided")
    before = tab.by("decided").inner_text()
    tab.page.reload()
    later = open_tab(tab.address, width=390, height=780)
    for each in (tab, later):
        expect(each.by("decided")).to_have_text(before.replace("\n", ""))
        expect(each.by("approval-card")).to_have_count(0)
    expect_no_sideways_scroll(later)


@pytest.mark.req("APR-11", "APR-12", "APR-14", "APR-32")
def test_an_edit_that_cannot_be_is_told_at_its_place_and_a_right_one_arrives(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    asked(tab)
    tab.by("edit").click()
    text = tab.by("arguments")
    assert json.loads(text.input_value()) == {"order_id": "1002", "amount": 6000}

    text.fill('{"order_id": "1002", "amount": }')
    tab.by("approve-edited").click()
    expect(tab.by("edit-problem")).to_contain_text("This is no JSON")
    text.fill("[6000]")
    tab.by("approve-edited").click()
    expect(tab.by("edit-problem")).to_contain_text("an object")
    text.fill('{"order_id": "1002", "amount": "much"}')
    tab.by("approve-edited").click()
    expect(tab.by("decision-trouble")).to_contain_text("amount")
    expect(text).to_have_value('{"order_id": "1002", "amount": "much"}')
    shot(tab, "refused")
    expect_accessible(tab)

    text.fill('{"order_id": "1002", "amount": 4000}')
    tab.by("approve-edited").click()
    tab.expect_status("completed")
    expect(tab.by("changes")).to_have_text("amount: 6000 → 4000")
    expect(tab.by("decision-trouble")).to_have_count(0)
    shot(tab, "edited")
    assert results(dev, tab)[0]["output"]["refunded_cents"] == 4000


@pytest.mark.req("APR-16", "APR-17", "IMP-26")
@pytest.mark.parametrize(("width", "theme"), [(1100, "light"), (390, "dark")])
def test_three_cards_are_decided_together_by_the_bar(
    dev: DevProcess, open_tab: Open, shot: Shot, width: int, theme: str
) -> None:
    tab = open_tab(width=width, height=820)
    tab.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    asked(tab, THREE, cards=3)
    other = open_tab(tab.address)
    bar = tab.by("batch-bar")
    expect(bar.get_by_role("button")).to_have_text(
        ["Select all", "Reject selected", "Approve selected"]
    )
    expect(tab.by("approve-selected")).to_be_disabled()

    tab.by("select").nth(1).check()
    expect(tab.by("reject-selected")).to_have_text("Reject selected (1)")
    shot(tab, "one")
    tab.by("reject-selected").click()
    expect(tab.by("decided")).to_have_count(1)
    expect(tab.by("approval-card")).to_have_count(2)
    tab.by("select-all").click()
    expect_no_sideways_scroll(tab)
    expect_accessible(tab)
    tab.by("approve-selected").click()

    for each in (tab, other):
        each.expect_status("completed")
        expect(each.by("decided")).to_have_count(3)
        expect(each.by("batch-bar")).to_have_count(0)
    shot(tab, "all")
    refunds = results(dev, tab)
    assert [each["isError"] for each in refunds] == [False, True, False]


@pytest.mark.req("APR-05", "SUB-03")
def test_b40_a_reload_in_the_middle_keeps_what_is_decided_and_what_waits(
    dev: DevProcess, open_tab: Open
) -> None:
    tab = open_tab()
    asked(tab, THREE, cards=3)
    tab.by("approve").first.click()
    expect(tab.by("decided")).to_contain_text("in a browser")
    tab.page.reload()

    expect(tab.by("decided")).to_have_count(1)
    expect(tab.by("approval-card")).to_have_count(2)
    tab.by("select-all").click()
    tab.by("approve-selected").click()
    tab.expect_status("completed")
    assert [each["isError"] for each in results(dev, tab)] == [False, False, False]


@pytest.mark.req("IMP-26")
def test_b38_what_is_written_meanwhile_decides_nothing_and_the_page_says_so(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    asked(tab)
    expect(tab.by("hint")).to_contain_text("does not decide")
    tab.send("yes, approve it")

    expect(tab.by("approval-card")).to_have_count(1)
    shot(tab, "written")
    tab.by("approve").click()
    tab.expect_status("completed")
    expect(tab.by("hint")).to_have_count(0)


@pytest.mark.req("IMP-26")
def test_the_title_and_the_list_tell_that_something_waits_and_a_hidden_page_is_told(
    dev: DevProcess, open_tab: Open
) -> None:
    tab, other = open_tab(), open_tab()
    other.page.evaluate(
        """() => {
            window.notices = [];
            window.Notification = class {
                static permission = 'granted';
                constructor(title) { window.notices.push(title); }
            };
            Object.defineProperty(document, 'hidden', { get: () => true });
        }"""
    )
    asked(tab, THREE, cards=3)

    for each in (tab, other):
        expect(each.page).to_have_title(waiting_title(3))
    told = other.page.evaluate("window.notices")
    assert told == ["refund_order needs your approval"] * 3
    expect(tab.by("thread-waits")).to_have_count(1)
    tab.by("select-all").click()
    tab.by("reject-selected").click()
    expect(other.page).not_to_have_title(re.compile(r"^\("))
    tab.expect_status("completed")
    expect(tab.by("thread-waits")).to_have_count(0)


@pytest.mark.req("IMP-26")
def test_a_card_is_decided_with_the_keyboard_alone(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    asked(tab)
    keys = tab.page.keyboard
    tab.by("deny").focus()
    keys.press("Enter")
    expect(tab.by("reason")).to_be_focused()
    keys.press("Escape")
    expect(tab.by("reject-form")).to_have_count(0)
    tab.by("deny").focus()
    keys.press("Tab")
    expect(tab.by("edit")).to_be_focused()
    keys.press("Enter")
    expect(tab.by("arguments")).to_be_focused()
    keys.press("Tab")
    expect(tab.by("approve-edited")).to_be_focused()
    keys.press("Enter")

    tab.expect_status("completed")
    expect(tab.by("decided")).to_contain_text("Nothing was changed")


@pytest.mark.req("SDK-15")
def test_who_was_slower_learns_whose_decision_stands(dev: DevProcess, open_tab: Open) -> None:
    tab = open_tab()
    asked(tab)
    tab.page.context.set_offline(True)
    other = open_tab(tab.address)
    reject(other, "no")
    other.expect_status("completed")
    tab.by("approve").click()
    tab.page.context.set_offline(False)

    tab.expect_status("completed")
    expect(tab.by("decided")).to_contain_text("Rejected by you", timeout=FINISH_MS)
    expect(tab.by("approval-card")).to_have_count(0)
    assert results(dev, tab)[0]["isError"] is True
