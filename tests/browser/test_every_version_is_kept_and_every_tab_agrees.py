"""Regenerated, edited, switched in another tab, reloaded: one version on show, all of them kept."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.accessibility import expect_accessible
from tests.support.dev_process import DevProcess, dev_process
from tests.support.screen import Screen

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]

FINGER_PX = 44


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with a line for each payment."""
    return tmp_path_factory.mktemp("desk") / "paid"


@pytest.fixture(scope="module")
def dev(paid: Path) -> Iterator[DevProcess]:
    agents = Path(__file__).parent / "branching_agents"
    env = {"TAKES_FILE": str(paid.with_name("takes")), "PAID_FILE": str(paid)}
    with dev_process(agents=agents, env=env) as process:
        yield process.start()


def ask(tab: Screen, text: str) -> None:
    """Say something and wait for the answer."""
    tab.send(text)
    answered(tab, text)


def answered(tab: Screen, text: str) -> None:
    tab.expect_answer(f"“{text}”")
    tab.expect_status("completed")
    tab.expect_nothing_streams()


def said(tab: Screen) -> list[str]:
    """Return what stands in the chat, in order."""
    texts: list[str] = tab.page.locator('[data-testid="message"]').evaluate_all(
        "all => all.map(one => one.querySelector('.text, .markdown')?.textContent ?? '')"
    )
    return texts


def versions(tab: Screen) -> Locator:
    return tab.by("version")


def users(tab: Screen) -> Locator:
    return tab.page.locator('[data-role="user"]')


def edit(tab: Screen, index: int, text: str) -> None:
    """Say something else in the place of a message, by the keyboard."""
    users(tab).nth(index).get_by_test_id("edit-message").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.by("edit-field")).to_be_focused()
    tab.by("edit-field").fill(text)
    tab.page.keyboard.press("Enter")


def branches(dev: DevProcess, tab: Screen) -> list[str]:
    """Return the keys of all branches that the server keeps."""
    token = httpx2.get(f"{dev.url}/dev/session").json()["token"]
    answer = httpx2.get(
        f"{dev.url}/agents/support/sessions/{tab.key}/branches",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200, answer.text
    return [each["key"] for each in answer.json()["list"]]


@pytest.mark.req("SDK-05", "SDK-06", "SUB-03", "SUB-04")
def test_b97_regenerate_twice_edit_switch_and_reload_and_both_tabs_agree(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    ask(tab, "one")
    ask(tab, "two")
    other = open_tab(tab.address)
    first = said(tab)

    takes = [first]
    for count in (2, 3):
        before = takes[-1][-1]
        tab.watch_bubbles("two")
        tab.by("regenerate").click()
        expect(tab.page.get_by_text(before)).to_have_count(0)
        for each in (tab, other):
            answered(each, "two")
            expect(versions(each)).to_have_text([f"{count}/{count}"])
            assert said(each)[:-1] == first[:-1]
        assert tab.bubbles_seen() == {1}
        assert said(tab) == said(other)
        takes.append(said(tab))
    assert len({take[-1] for take in takes}) == 3
    shot(tab, "regenerated")

    edit(tab, 0, "uno")
    for each in (tab, other):
        answered(each, "uno")
        expect(versions(each)).to_have_text(["2/2"])
        assert len(said(each)) == 2
    edited = said(tab)

    other.by("version-back").click()
    for each in (tab, other):
        expect(versions(each)).to_have_text(["1/2", "1/3"])
        assert said(each) == takes[0]
    expect(other.by("version-back").first).to_be_focused()
    for number in (1, 2):
        tab.by("version-on").last.click()
        for each in (tab, other):
            expect(versions(each).last).to_have_text(f"{number + 1}/3")
            assert said(each) == takes[number]
    expect(tab.by("version-on").last).to_be_focused()
    shot(tab, "switched")

    for each in (tab, other):
        each.page.reload()
        expect(versions(each)).to_have_text(["1/2", "3/3"])
        assert said(each) == takes[2]
        each.expect_status("completed")
    other.by("version-on").first.click()
    for each in (tab, other):
        expect(versions(each)).to_have_text(["2/2"])
        assert said(each) == edited
    assert len(branches(dev, tab)) == 4
    expect_accessible(tab)


@pytest.mark.req("APR-01", "APR-05", "SDK-07")
def test_b30_a_card_that_was_left_waiting_is_out_of_sight_and_decided_by_nobody(
    dev: DevProcess, open_tab: Open, shot: Shot, paid: Path
) -> None:
    tab = open_tab()
    tab.send("Pay 60")
    tab.expect_status("awaiting_input")
    expect(tab.by("approval-card")).to_have_count(1)
    call = tab.by("tool-card").get_attribute("data-tool-call-id")
    shot(tab, "waits")

    edit(tab, 0, "Do nothing")
    answered(tab, "Do nothing")
    expect(tab.by("approval-card")).to_have_count(0)
    tab.by("version-back").click()
    expect(tab.by("approval-card")).to_have_count(1)
    tab.expect_status("awaiting_input")
    tab.by("regenerate").click()

    expect(tab.page.locator(f'[data-tool-call-id="{call}"]')).to_have_count(0)
    tab.expect_status("awaiting_input")
    expect(tab.by("approval-card")).to_have_count(1)
    expect(versions(tab)).to_have_text(["3/3"])
    assert tab.by("tool-card").get_attribute("data-tool-call-id") != call
    assert not paid.exists()
    shot(tab, "again")

    tab.by("approve").click()
    answered(tab, "Pay 60")
    assert paid.read_text().split() == ["60"]
    tab.by("version-back").click()
    tab.by("version-back").click()
    expect(tab.page.locator(f'[data-tool-call-id="{call}"]')).to_have_count(1)
    tab.expect_status("awaiting_input")
    expect(tab.by("approval-card")).to_have_count(1)
    assert paid.read_text().split() == ["60"]


@pytest.mark.req("SDK-06")
def test_an_edit_is_left_and_sent_by_the_keyboard_and_the_focus_goes_on(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    ask(tab, "one")
    users(tab).get_by_test_id("edit-message").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.by("edit-field")).to_have_value("one")
    tab.by("edit-field").fill("something else")
    shot(tab, "editing")
    expect_accessible(tab)
    tab.page.keyboard.press("Escape")
    expect(tab.by("edit-form")).to_have_count(0)
    expect(tab.by("edit-message")).to_be_focused()
    assert said(tab)[0] == "one"

    edit(tab, 0, "uno")
    expect(tab.by("composer")).to_be_focused()
    answered(tab, "uno")
    tab.by("version-on").focus()
    tab.page.keyboard.press("Shift+Tab")
    expect(tab.by("version-back")).to_be_focused()
    tab.page.keyboard.press("Enter")
    answered(tab, "one")
    expect(tab.by("version-back")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(versions(tab)).to_have_text(["1/2"])


@pytest.mark.req("SDK-06", "SUB-03")
def test_what_was_written_offline_goes_where_it_was_written(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    ask(tab, "one")
    tab.by("regenerate").click()
    expect(versions(tab)).to_have_text(["2/2"])
    answered(tab, "one")
    second = said(tab)
    other = open_tab(tab.address)
    expect(versions(other)).to_have_text(["2/2"])

    # A browser that is taken offline keeps its sockets: they have to be cut.
    tab.page.context.set_offline(True)
    killed = dev.kill("gateway")
    dev.wait_for_another("gateway", killed)
    expect(tab.by("connection")).not_to_have_attribute("data-state", "open")
    tab.send("two")
    expect(users(tab)).to_have_count(2)
    other.by("version-back").click()
    expect(versions(other)).to_have_text(["1/2"])
    shot(tab, "offline")
    tab.page.context.set_offline(False)

    expect(versions(tab)).to_have_text(["1/2"])
    assert said(tab) == said(other)
    assert len(said(tab)) == 2
    other.by("version-on").click()
    for each in (tab, other):
        answered(each, "two")
        assert said(each)[:-1] == [*second, "two"]


@pytest.mark.req("SDK-06")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_all_is_in_sight_as_large_as_a_finger_and_nothing_moves(
    dev: DevProcess, browser: Browser, shot: Shot, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 780},
        has_touch=True,
        is_mobile=True,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    with closing(context):
        tab = Screen(context.new_page())
        tab.page.goto(dev.url)
        ask(tab, "A question that is long enough to take more than one line on a phone")
        tab.by("regenerate").tap()
        expect(versions(tab)).to_have_text(["2/2"])
        answered(tab, "A question that is long enough to take more than one line on a phone")

        for test_id in ("regenerate", "edit-message", "version-back", "version-on", "send"):
            box = tab.by(test_id).bounding_box()
            assert box is not None, test_id
            assert box["height"] >= FINGER_PX, test_id
            assert box["width"] >= FINGER_PX, test_id
        widths = tab.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]
        shot(tab, "phone")
        expect_accessible(tab)

        tab.by("edit-message").tap()
        shot(tab, "editing")
        expect_accessible(tab)
        tab.by("edit-back").tap()
        tab.page.evaluate(
            """() => {
                window.shifts = 0;
                new PerformanceObserver(list => {
                    for (const one of list.getEntries()) window.shifts += one.value;
                }).observe({ type: "layout-shift" });
            }"""
        )
        tab.by("regenerate").tap()
        expect(versions(tab)).to_have_text(["3/3"])
        tab.expect_status("completed")
        assert tab.page.evaluate("window.shifts") < 0.1
