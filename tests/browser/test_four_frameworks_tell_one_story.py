"""One script over the example apps of four frameworks: what they show is what is stored.

The apps share no component; what they have in common is the core of the SDK, and this script.  The
element, which needs no framework, does as they do.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect

from app.main.dev.folder import DataFolder
from app.main.tokens import mint
from app.main.web import DEV_USER
from app.settings import Settings
from tests.browser.accessibility import expect_accessible
from tests.browser.conftest import FLAGS
from tests.browser.examples import FRAMEWORKS, PHONE, Examples, build_examples
from tests.browser.test_the_chat_shows_what_is_stored import stored
from tests.support.dev_process import DevProcess, dev_process
from tests.support.example_screen import ExampleScreen
from tests.support.laptop import Laptop, laptop
from tests.support.screen import FINISH_MS
from tests.support.wait_until import wait_until_sync

WEATHER = "Weather in Oslo and Rome"
REFUNDS = "Refund all three"
STORY = "Story, please"
A_LINE = 40
NAP = timedelta(seconds=3)
"""For so long a laptop's token holds."""

Tabs = list[ExampleScreen]
Shot = Callable[[ExampleScreen, str], None]


@pytest.fixture(scope="module")
def hold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file whose presence stops stories in the middle."""
    return tmp_path_factory.mktemp("model") / "hold"


@pytest.fixture(scope="module")
def dev(hold: Path) -> Iterator[DevProcess]:
    env = {"HOLD_FILE": str(hold), "JWT_LEEWAY": "0"}
    with dev_process(agents=Path(__file__).parent / "story_agents", workers=2, env=env) as process:
        yield process.start()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture
def examples(browser: Browser, dev: DevProcess, built: Path) -> Iterator[Examples]:
    yield Examples(browser, dev, built)
    for context in browser.contexts:
        context.close()


@pytest.fixture
def lid(browser: Browser, chromium: str) -> Iterator[Laptop]:
    with laptop(browser.browser_type, chromium, FLAGS) as opened:
        yield opened


def ask(tab: ExampleScreen, text: str) -> None:
    """Say something and wait for the answer."""
    tab.send(text)
    expect(tab.said("Assistant").last).to_contain_text(f"You said: {text}", timeout=FINISH_MS)


def agree(dev: DevProcess, tabs: Tabs, status: str = "completed") -> None:
    """Hold all tabs to showing what is stored, and to no run that goes on."""
    for tab in tabs:
        tab.expect_status(status)
    view = stored(dev, tabs[0].key)
    assert "open" not in {row["status"] for row in view["messages"]}
    for tab in tabs:
        tab.expect_stored(view)


def results(dev: DevProcess, key: str) -> list[dict[str, object]]:
    """Return what the tools answered, in order."""
    rows = stored(dev, key)["messages"]
    return [row["parts"][0] for row in rows if row["role"] == "tool"]


def last_text(dev: DevProcess, key: str) -> object:
    return stored(dev, key)["messages"][-1]["text"]


@pytest.mark.req("SDK-05", "SDK-06", "SDK-07", "SDK-09", "SDK-10", "SUB-03", "SUB-04", "SUB-07")
@pytest.mark.parametrize("app", FRAMEWORKS)
def test_a_conversation_in_three_tabs_is_one(
    app: str, examples: Examples, dev: DevProcess, hold: Path, shot: Shot
) -> None:
    desk = examples.open(app)
    desk.watch(WEATHER)
    desk.send(WEATHER)
    expect(desk.card("Done", "look_up")).to_have_count(2)
    agree(dev, [desk])
    assert desk.bubbles_seen() == {1}

    other = examples.open(app, desk.key)
    phone = examples.open(app, desk.key, size=PHONE)
    tabs = [desk, other, phone]
    desk.send(REFUNDS)
    for tab in tabs:
        expect(tab.card("Needs approval")).to_have_count(3)
    shot(desk, "asked")
    shot(phone, "phone")
    expect_accessible(desk)
    three_people_decide(dev, *tabs)
    hold.touch()
    one_of_them_stops_it(dev, *tabs)

    ask(desk, "Hello")
    agree(dev, tabs)
    first = stored(dev, desk.key)
    desk.button("Regenerate").click()
    for tab in tabs:
        expect(tab.page.get_by_text("2 of 2")).to_be_visible()
        tab.expect_status("completed")
        expect(tab.streaming).to_have_count(0)
    shot(desk, "regenerated")
    phone.button("Previous version").click()
    for tab in tabs:
        expect(tab.page.get_by_text("1 of 2")).to_be_visible()
        tab.expect_stored(first)

    expect_accessible(phone)
    goes_elsewhere_and_back(dev, desk, WEATHER)
    agree(dev, tabs)


def three_people_decide(
    dev: DevProcess, desk: ExampleScreen, other: ExampleScreen, phone: ExampleScreen
) -> None:
    """Have one refund approved, one changed and one rejected, each in another tab."""
    tabs = [phone, other, desk]
    first, second, third = (tab.card("Needs approval").nth(at) for at, tab in enumerate(tabs))
    third.get_by_role("button", name="Reject…").click()
    desk.fill("Reason", "no receipt")
    third.get_by_role("button", name="Reject", exact=True).click()
    expect(other.card("Needs approval")).to_have_count(2)
    second.get_by_role("button", name="Edit…").click()
    other.fill("Arguments", '{"order": 2, "cents": 10}')
    second.get_by_role("button", name="Approve with changes").click()
    expect(phone.card("Needs approval")).to_have_count(1)
    first.get_by_role("button", name="Approve").click()

    agree(dev, tabs)
    approved, changed, rejected = results(dev, desk.key)[-3:]
    assert [each["isError"] for each in (approved, changed, rejected)] == [False, False, True]
    assert changed["output"] == {"order": 2, "refunded": 10}
    assert "no receipt" in str(rejected["output"])


def one_of_them_stops_it(
    dev: DevProcess, desk: ExampleScreen, other: ExampleScreen, phone: ExampleScreen
) -> None:
    """Have a story begun in one tab and stopped in another, in the middle of it."""
    desk.send(STORY)
    for tab in (desk, other, phone):
        tab.expect_speaking(A_LINE)
    other.button("Stop").click()
    agree(dev, [desk, other, phone], "cancelled")
    assert stored(dev, desk.key)["messages"][-1]["status"] == "interrupted"


def goes_elsewhere_and_back(dev: DevProcess, tab: ExampleScreen, title: str) -> None:
    """Begin another conversation and come back: neither shows anything of the other."""
    before, shown = tab.key, tab.message_ids()
    tab.button("New conversation").click()
    expect(tab.messages).to_have_count(0)
    assert tab.key != before
    ask(tab, "Hello there")
    agree(dev, [tab])
    assert not set(tab.message_ids()) & set(shown)
    tab.button(title).click()
    expect(tab.messages).to_have_count(len(shown))
    assert (tab.key, tab.message_ids()) == (before, shown)


@pytest.mark.req("SDK-05", "SDK-06", "SDK-07", "SDK-10", "SUB-03", "SUB-04")
def test_an_element_in_a_plain_page_does_the_same(
    examples: Examples, dev: DevProcess, hold: Path, shot: Shot
) -> None:
    desk = examples.open("element")
    key = desk.key
    desk.page.reload()
    assert desk.key == key
    other, phone = examples.open("element"), examples.open("element", size=PHONE)
    for tab in (other, phone):
        assert tab.key != key
        tab.page.locator("ropewalk-chat").evaluate(
            "(element, key) => element.setAttribute('thread', key)", key
        )
    desk.watch(WEATHER)
    desk.send(WEATHER)
    agree(dev, [desk, other, phone])
    assert desk.bubbles_seen() == {1}
    expect(desk.page.locator("[aria-live=polite]")).to_contain_text(str(last_text(dev, desk.key)))

    desk.send(REFUNDS)
    for tab in (desk, other, phone):
        expect(tab.card("Needs approval")).to_have_count(3)
    desk.page.emulate_media(color_scheme="dark")
    for tab, name in ((desk, "dark"), (phone, "phone")):
        shot(tab, name)
        expect_accessible(tab)
    three_people_decide(dev, desk, other, phone)
    hold.touch()
    one_of_them_stops_it(dev, desk, other, phone)

    # Who reads further up is not moved by others; who says something is where it stands.
    scroller = desk.page.locator("[part=scroller]")
    scroller.evaluate("node => { node.scrollTop = 10 }")
    ask(other, "Hello")
    agree(dev, [other, phone, desk])
    assert scroller.evaluate("node => node.scrollTop") == 10
    ask(desk, "Hello again")
    agree(dev, [desk, other, phone])
    rest = scroller.evaluate("node => node.scrollHeight - node.scrollTop - node.clientHeight")
    assert rest < 1

    shown = desk.message_ids()
    desk.page.evaluate("document.body.prepend(document.querySelector('ropewalk-chat'))")
    assert desk.message_ids() == shown

    # A window of its own is another document, which takes no sheet of this one.
    moved = desk.page.evaluate(
        """() => {
            const chat = document.querySelector("ropewalk-chat");
            const frame = document.body.appendChild(document.createElement("iframe"));
            frame.contentDocument.body.append(chat);
            return frame.contentWindow.getComputedStyle(chat).overflow;
        }"""
    )
    assert moved == "hidden"


@pytest.mark.req("SDK-09", "SUB-03", "DUR-03")
def test_workers_that_die_in_mid_sentence_leave_every_screen_true(
    examples: Examples, dev: DevProcess, hold: Path
) -> None:
    desks = speaking(examples, hold)

    for pid in dev.pids("worker"):
        os.kill(pid, signal.SIGKILL)
    hold.unlink()

    for desk in desks:
        ends(dev, desk)
        agree(dev, [desk])


@pytest.mark.req("SDK-09", "SUB-03", "IMP-04")
def test_b65_laptops_asleep_for_longer_than_their_tokens_live_miss_a_gateways_death_and_catch_up(
    examples: Examples, lid: Laptop, dev: DevProcess, hold: Path
) -> None:
    desks = speaking(examples, hold)
    away = replace(examples, browser=lid.browser)
    context = away.context()
    tokens = short_tokens(context, dev)
    laptops = [
        away.open(app, desk.key, context=context)
        for app, desk in zip(FRAMEWORKS, desks, strict=True)
    ]
    for tab in laptops:
        tab.expect_speaking(A_LINE)
    lid.sleep()
    before = len(tokens)

    dev.wait_for_another("gateway", dev.kill("gateway"))
    hold.unlink()
    for desk in desks:
        ends(dev, desk)
        agree(dev, [desk])
        expect_connected(desk)
    wait_until_sync(lambda: ran_out(tokens[-1]), description="the last token is of no use any more")

    lid.wake()
    for desk, tab in zip(desks, laptops, strict=True):
        agree(dev, [desk, tab])
        expect_connected(tab)
    assert len(tokens) >= before + len(laptops)


def speaking(examples: Examples, hold: Path) -> Tabs:
    """Return all four apps, each in the middle of a story, which goes on when ``hold`` is gone."""
    hold.touch()
    desks = [examples.open(app) for app in FRAMEWORKS]
    for desk in desks:
        desk.send(STORY)
    for desk in desks:
        desk.expect_speaking(A_LINE)
    return desks


def ends(dev: DevProcess, tab: ExampleScreen) -> None:
    """Wait until the run has been taken over and has ended."""
    wait_until_sync(
        lambda: stored(dev, tab.key)["status"] == "completed",
        description=f"the story of {tab.address} ends; dev said: {dev.log()}",
        timeout_s=45,
    )


def expect_connected(tab: ExampleScreen) -> None:
    expect(tab.page.locator("[data-connection]")).to_have_attribute("data-connection", "open")


def short_tokens(context: BrowserContext, dev: DevProcess) -> list[str]:
    """Sign the pages of a browser in for seconds at a time; return the tokens that it was given."""
    secret = DataFolder(dev.data_dir).known_secret()
    assert secret is not None
    given: list[str] = []

    def answer(route: Route) -> None:
        given.append(
            mint(secret, DEV_USER, now=datetime.now(UTC), lifetime=NAP, settings=Settings())
        )
        route.fulfill(json={"token": given[-1]})

    context.route("**/dev/session", answer)
    return given


def ran_out(token: str) -> bool:
    """Return whether a token's time is over."""
    claims = jwt.decode(token, options={"verify_signature": False, "verify_exp": False})
    return bool(claims["exp"] < time.time())
