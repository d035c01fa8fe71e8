"""A send to a busy thread waits in sight; a run that broke off goes on when asked to."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_the_chat_shows_what_is_stored import stored
from tests.support.dev_process import DevProcess, dev_process
from tests.support.screen import Screen

Open = Callable[..., Screen]
Shot = Callable[[Screen, str], None]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file whose presence breaks the model's stories off."""
    return tmp_path_factory.mktemp("model") / "broken"


@pytest.fixture(scope="module")
def dev(broken: Path) -> Iterator[DevProcess]:
    agents = Path(__file__).parent / "agents"
    with dev_process(agents=agents, env={"BROKEN_FILE": str(broken)}) as process:
        yield process.start()


@pytest.mark.req("DUR-03", "SDK-06")
def test_b46_a_story_that_broke_off_keeps_its_text_and_goes_on_when_asked(
    dev: DevProcess, open_tab: Open, broken: Path, shot: Shot
) -> None:
    broken.touch()
    tab, other = open_tab(), None
    tab.send("Tell me a story")
    tab.expect_status("failed")

    expect(tab.by("error")).to_contain_text("this story is not for us")
    expect(tab.page.locator('[data-status="interrupted"]')).to_contain_text("word30")
    tab.expect_nothing_streams()
    failed = stored(dev, tab.key)
    tab.expect_stored(failed)
    shot(tab, "failed")

    other = open_tab(tab.address)
    broken.unlink()
    tab.by("try-again").click()

    for each in (tab, other):
        each.expect_status("completed")
        each.expect_answer("told.")
        each.expect_nothing_streams()
        expect(each.by("error")).to_have_count(0)
        each.expect_stored(stored(dev, tab.key))
    view = stored(dev, tab.key)
    assert [row["role"] for row in view["messages"]].count("user") == 1
    assert len({row["runId"] for row in view["messages"]}) == 1


@pytest.mark.req("CON-07", "SDK-06", "SUB-04")
def test_a_send_to_a_busy_agent_that_listens_waits_in_sight_and_is_read_next(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    other = open_tab(tab.address)
    tab.watch_bubbles("and in rhyme")
    tab.send("and in rhyme")

    for each in (tab, other):
        expect(each.by("waiting")).to_have_text("Read before the next step")
    shot(tab, "steered")
    for each in (tab, other):
        each.expect_answer("You said: and in rhyme")
        each.expect_status("completed")
        expect(each.by("waiting")).to_have_count(0)
        each.expect_stored(stored(dev, tab.key))
    assert tab.bubbles_seen() == {1}
    view = stored(dev, tab.key)
    assert [row["role"] for row in view["messages"]] == ["user", "assistant", "user", "assistant"]
    assert len({row["runId"] for row in view["messages"]}) == 1


@pytest.mark.req("CON-04", "SDK-06", "SUB-04")
def test_sends_that_wait_for_their_turn_show_their_place_and_are_answered_in_order(
    dev: DevProcess, open_tab: Open, shot: Shot
) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    other = open_tab(tab.address)
    tab.watch_bubbles("Then one")
    tab.send("Then one")
    tab.send("Then two")

    for each in (tab, other):
        expect(each.by("waiting")).to_have_text(["Next in line", "Number 2 in line"])
    expect(tab.by("streaming").locator("xpath=following::*[@data-testid='waiting']")).to_have_count(
        2
    )
    shot(tab, "queued")
    for each in (tab, other):
        each.expect_answer("You said: Then two")
        each.expect_status("completed")
        expect(each.by("waiting")).to_have_count(0)
        each.expect_stored(stored(dev, tab.key))
    assert tab.bubbles_seen() == {1}
    said = [row["text"] for row in stored(dev, tab.key)["messages"] if row["role"] == "assistant"]
    assert said[1:] == ["You said: Then one", "You said: Then two"]


@pytest.mark.req("CON-04", "SDK-03")
def test_stop_ends_what_speaks_and_lets_the_next_in_line_begin(
    dev: DevProcess, open_tab: Open
) -> None:
    tab = open_tab()
    tab.send("Tell me a story")
    expect(tab.by("streaming").first).to_be_attached()
    tab.send("Then one")
    expect(tab.by("waiting")).to_have_count(1)
    tab.by("stop").click()

    tab.expect_answer("You said: Then one")
    tab.expect_status("completed")
    tab.expect_stored(stored(dev, tab.key))


def test_a_server_that_has_no_orders_shows_none(open_tab: Open) -> None:
    tab = open_tab(width=1400)
    expect(tab.by("connection")).to_have_attribute("data-state", "open")

    expect(tab.by("orders-toggle")).to_have_count(0)
    expect(tab.by("orders")).to_have_count(0)
