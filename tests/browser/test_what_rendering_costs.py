"""What a long answer costs the page that shows it, in CPU time of its main thread.

The shipped chat against a gateway within the page, so that nothing else is measured.  Times are
those of the thread, not of the clock, and are compared with one another or with a loop that runs
beside them: a busy machine makes nothing of this fail.  Field case B52.
"""

import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.support.dev_process import ROOT

ADDRESS = "http://chat.test/"
BUILT = ROOT / "app" / "http" / "static" / "chat"
GATEWAY = (Path(__file__).parent / "in_page_gateway.js").read_text()
SENTENCE = "The quick brown fox jumps over **the lazy** dog, and `code` too. "
PARAGRAPH = SENTENCE * 1600
ARGUMENTS = '{"a":"bcdefgh"},' * 12_800
LOOP_MS = 10.0
"""What the loop of ``in_page_gateway.js`` takes on a machine that 50 ms are meant for."""
LONG_MS = 50.0
SHOWN_MS = 120_000
"""For two thousand messages on a machine with much else to do."""
PAUSES = 8
"""Tasks that may be longer, of some hundred that draw: the engine collects its garbage when it
likes, and a shared machine is slow for moments, which counts as the thread's own time."""

Open = Callable[[int], Page]


@pytest.fixture
def open_chat(browser: Browser) -> Iterator[Open]:
    """Open the chat on a conversation with so many messages."""
    with ExitStack() as stack:

        def open_(messages: int) -> Page:
            context = browser.new_context(viewport={"width": 1100, "height": 760})
            context.set_default_timeout(SHOWN_MS)
            stack.callback(context.close)
            context.route(f"{ADDRESS}**", serve)
            page = context.new_page()
            page.add_init_script(f"{GATEWAY}\ngateway.begin('t-1', {messages});")
            page.goto(f"{ADDRESS}#/t-1")
            shown = "count => document.querySelectorAll('article').length === count"
            page.wait_for_function(shown, arg=messages)
            return page

        yield open_


def serve(route: Route) -> None:
    """Answer with a file of the built page."""
    path = route.request.url.removeprefix(ADDRESS).partition("#")[0] or "index.html"
    file = BUILT / path
    if file.is_file():
        route.fulfill(path=file)
    else:
        route.fulfill(status=404, body="{}")


def tasks_of(browser: Browser, page: Page, script: str, arg: object = None) -> list[float]:
    """Return the CPU time of each task of the page's main thread meanwhile in ms, longest first."""
    browser.start_tracing(page=page, categories=["toplevel"])
    page.evaluate(script, arg)
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    by_thread: dict[tuple[int, int], list[float]] = {main: [] for main in mains}
    for event in events:
        thread = (event["pid"], event["tid"])
        if event["name"] == "ThreadControllerImpl::RunTask" and thread in mains:
            by_thread[thread].append(event.get("tdur", 0) / 1000)
    busiest: list[float] = max(by_thread.values(), key=len)
    return sorted(busiest, reverse=True)


def speak(browser: Browser, page: Page, **said: str | int) -> list[float]:
    """Let the model say ``text``; return the tasks that it took."""
    return tasks_of(browser, page, "said => gateway.speak(said)", said)


def slowness_of(browser: Browser, page: Page) -> float:
    """Return how many times as long as it should the same piece of work takes just now."""
    loops = tasks_of(browser, page, "() => gateway.loop(20)")[:20]
    return max(1.0, statistics.median(loops) / LOOP_MS)


@pytest.mark.req("SDK-10")
def test_b52_a_long_answer_and_long_arguments_cost_the_same_to_their_end_in_short_tasks(
    browser: Browser, open_chat: Open
) -> None:
    page = open_chat(20)
    for part, (kind, text, size) in enumerate(
        [("text", PARAGRAPH, 4), ("tool_args", ARGUMENTS, 8)]
    ):
        half = len(text) // 2
        said: dict[str, str | int] = {"part": part, "kind": kind, "size": size}
        before = slowness_of(browser, page)
        first = speak(browser, page, **said, offset=0, text=text[:half])
        between = slowness_of(browser, page)
        then = speak(browser, page, **said, offset=half, text=text[half:])
        after = slowness_of(browser, page)

        # Twice as long an answer costs less than three times as much.
        assert sum(then) < 2 * sum(first), f"{kind}: {sum(first):.0f} ms, then {sum(then):.0f} ms"
        for tasks, slowness in (first, max(before, between)), (then, max(between, after)):
            assert tasks[PAUSES] < LONG_MS * slowness, f"{kind}: {tasks[:10]}, {slowness=}"


@pytest.mark.req("SDK-10")
def test_of_two_thousand_messages_none_is_drawn_again_while_another_is_written(
    browser: Browser, open_chat: Open
) -> None:
    said: dict[str, str | int] = {
        "part": 0,
        "kind": "text",
        "offset": 0,
        "text": PARAGRAPH[:8_000],
        "size": 4,
    }
    few = speak(browser, open_chat(20), **said)
    page = open_chat(2000)
    # React gives an element new properties each time that its component is rendered.
    page.evaluate(
        """() => {
            window.shown = [...document.querySelectorAll('article')];
            const key = Object.keys(shown[0]).find(one => one.startsWith('__reactProps$'));
            window.drawn = () => shown.map(node => node[key]);
            window.before = drawn();
        }"""
    )

    many = speak(browser, page, **said)

    assert page.locator("[data-testid='streaming']").count() == 1
    assert page.evaluate("drawn().filter((one, index) => one !== before[index]).length") == 0
    assert page.evaluate("before.filter(one => one !== undefined).length") == 2000
    assert sum(many) < 10 * sum(few), f"{sum(few):.0f} ms with 20, {sum(many):.0f} ms with 2,000"
