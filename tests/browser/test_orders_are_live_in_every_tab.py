"""Orders beside the chat: shown at once, alike in every tab, changed by people and an agent."""

import re
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Locator, expect

from tests.support.dev_process import DevProcess
from tests.support.screen import Screen

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]

HEMP, CLIMBING = "Hemp rope, 20 m", "Climbing rope, 60 m"
THREE = "3 \N{MULTIPLICATION SIGN}"
FINISH_MS = 30_000

WATCH_ROWS = """() => {
    const known = new Set(rows().map(row => row.dataset.orderKey));
    window.rowsSeen = [];
    function rows() { return [...document.querySelectorAll('[data-testid="order"]')]; }
    const look = () => {
        const ids = rows().filter(row => !known.has(row.dataset.orderKey))
            .map(row => row.dataset.orderId === '0' ? 'expected' : 'stored').join();
        if (ids !== (window.rowsSeen.at(-1) ?? '')) window.rowsSeen.push(ids);
    };
    new MutationObserver(look).observe(document.body, {
        subtree: true, childList: true, attributes: true,
    });
}"""


def wide(open_tab: Open, address: str | None = None) -> Screen:
    """A tab that has room for the orders."""
    return open_tab(address, width=1400, height=860)


def place(tab: Screen, item: str = HEMP) -> str:
    """Order something and return the order's number."""
    before = tab.by("order").count() if tab.by("order-list").is_visible() else 0
    tab.page.locator(f'[data-testid="place-order"][data-item="{item}"]').click()
    expect(tab.by("order")).to_have_count(before + 1)
    newest = tab.by("order").first
    expect(newest).not_to_have_attribute("data-order-id", "0")
    return str(newest.get_attribute("data-order-id"))


def row(tab: Screen, number: str) -> Locator:
    return tab.page.locator(f'[data-testid="order"][data-order-id="{number}"]')


def ask(tab: Screen, number: str, question: str) -> None:
    row(tab, number).get_by_test_id("ask-order").click()
    tab.by("ask-form").locator("input").fill(question)
    tab.page.keyboard.press("Enter")


def ready(tab: Screen) -> Screen:
    """Return the tab once it shows what is stored."""
    expect(tab.by("place-order")).to_have_count(3)
    expect(tab.by("connection")).to_have_attribute("data-state", "open")
    tab.page.wait_for_function(
        "document.querySelector('[data-testid=order]') || document.querySelector('.orders .none')"
    )
    return tab


@pytest.mark.req("IMP-02", "SUB-05")
def test_an_order_shows_at_once_and_once_and_in_the_other_tab(open_tab: Open, shot: Shot) -> None:
    one, two = ready(wide(open_tab)), ready(wide(open_tab))
    one.page.evaluate(WATCH_ROWS)

    number = place(one)

    assert one.page.evaluate("window.rowsSeen") == ["expected", "stored"]
    expect(row(two, number)).to_contain_text(HEMP)
    expect(row(two, number)).to_have_attribute("data-status", "placed")
    shot(one, "placed")

    two.page.reload()
    expect(row(ready(two), number)).to_be_visible()


@pytest.mark.req("IMP-02", "SUB-05", "AGT-15", "TOOL-03", "ACC-07")
def test_asking_opens_the_conversation_and_what_the_agent_does_shows_in_every_tab(
    open_tab: Open, shot: Shot
) -> None:
    one, two = ready(wide(open_tab)), ready(wide(open_tab))
    number, before = place(one), one.key

    ask(one, number, "Where is it?")
    expect(one.page).not_to_have_url(re.compile(f"#{before}$"))
    one.expect_answer(f"Order {number} (1 x {HEMP}) is placed")
    expect(row(two, number).get_by_test_id("order-conversation")).to_be_visible()

    one.send("Make it 3")
    one.expect_answer("72.00 dollars")
    for tab in (one, two):
        expect(row(tab, number)).to_contain_text(f"{THREE} {HEMP}")

    one.send("Cancel it")
    for tab in (one, two):
        expect(row(tab, number)).to_have_attribute("data-status", "cancelled", timeout=FINISH_MS)
    one.expect_answer("is cancelled")
    shot(one, "cancelled-by-the-agent")

    row(two, number).get_by_test_id("order-conversation").click()
    two.expect_answer("is cancelled")
    assert two.key == one.key


@pytest.mark.req("APR-01", "TOOL-04")
def test_a_refund_waits_for_a_person_and_then_shows_in_the_list(open_tab: Open, shot: Shot) -> None:
    tab = ready(wide(open_tab))
    number = place(tab, CLIMBING)
    row(tab, number).get_by_test_id("pay-order").click()
    expect(row(tab, number)).to_have_attribute("data-status", re.compile("paid|shipped"))

    ask(tab, number, "I want a refund")
    expect(tab.by("approval-card")).to_have_count(1, timeout=FINISH_MS)
    shot(tab, "approval")
    tab.by("approve").click()

    expect(row(tab, number)).to_have_attribute("data-status", "refunded", timeout=FINISH_MS)
    tab.expect_answer(f"89.00 dollars go back for order {number}")


@pytest.mark.req("SCH-04", "IMP-02")
def test_what_is_paid_ships_by_itself(open_tab: Open) -> None:
    tab = ready(wide(open_tab))
    number = place(tab)

    row(tab, number).get_by_test_id("pay-order").click()

    expect(row(tab, number)).to_have_attribute("data-status", "shipped", timeout=60_000)


@pytest.mark.req("IMP-03")
def test_what_is_refused_is_said_and_the_row_is_true_again(dev: DevProcess, open_tab: Open) -> None:
    tab = ready(wide(open_tab))
    number = place(tab)

    # Somebody else's program is quicker, and the page cannot know it yet.
    with psycopg.connect(dev.ready()["databaseUrl"]) as database:
        database.execute("UPDATE orders SET status = 'shipped' WHERE id = %s", (number,))
        row(tab, number).get_by_test_id("cancel-order").click()
        expect(row(tab, number)).to_have_attribute("data-status", "cancelled")

    expect(tab.by("orders-error")).to_contain_text(f"order {number} is shipped")
    expect(row(tab, number)).to_have_attribute("data-status", "shipped", timeout=FINISH_MS)


def test_on_a_phone_the_keyboard_is_enough_and_nothing_is_wider_than_the_screen(
    open_tab: Open, shot: Shot
) -> None:
    tab = open_tab(width=390, height=780)
    expect(tab.by("orders")).to_have_count(0)
    tab.by("orders-toggle").focus()
    tab.page.keyboard.press("Enter")
    ready(tab)
    before = tab.by("order").count()

    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    expect(tab.by("order")).to_have_count(before + 1)
    shot(tab, "phone")
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    boxes = tab.page.evaluate(
        "[...document.querySelectorAll('.orders *')].map(one => one.getBoundingClientRect().right)"
    )

    assert width == 390
    assert max(boxes) <= 390
    tab.page.keyboard.press("Escape")
    expect(tab.by("orders")).to_have_count(0)
    expect(tab.by("orders-toggle")).to_be_focused()
