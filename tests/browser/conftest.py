"""A real Chromium on a real ``dev`` with the shipped agents."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.screen import Screen

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)
SHOTS = ROOT / ".screenshots"
"""Written by the tests, looked at by people, committed by nobody."""


@pytest.fixture(scope="module")
def dev() -> Iterator[DevProcess]:
    with dev_process(agents=ROOT / "agents", workers=2, env={"DEMO_DELAY_MS": "30"}) as process:
        yield process.start()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A browser for one module: Playwright's loop must be gone before asynchronous tests run."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_tab(browser: Browser, dev: DevProcess) -> Iterator[Callable[..., Screen]]:
    """Open the chat in a browser of its own, at an address if one is given."""
    with ExitStack() as stack:

        def open_(address: str | None = None, *, width: int = 1100, height: int = 760) -> Screen:
            context = browser.new_context(viewport={"width": width, "height": height})
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            page: Page = context.new_page()
            page.goto(address or dev.url)
            return Screen(page)

        yield open_


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Screen, str], None]:
    """Keep a picture of a screen, named for the test."""

    def keep(screen: Screen, name: str) -> None:
        SHOTS.mkdir(exist_ok=True)
        screen.page.screenshot(path=str(SHOTS / f"{Path(request.node.name).name}-{name}.png"))

    return keep
