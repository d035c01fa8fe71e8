"""The admin UI as a person at a browser sees and uses it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.dev_process import ROOT, DevProcess

FINISH_MS = 30_000
AXE = ROOT / "frontend-sdk" / "node_modules" / "axe-core" / "axe.min.js"


OpenAdmin: TypeAlias = "Callable[..., AdminScreen]"


class AdminScreen:
    """One tab."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def by(self, test_id: str) -> Locator:
        """Return the elements with this test id."""
        return self.page.get_by_test_id(test_id)

    def go(self, path: str = "") -> "AdminScreen":
        """Load a page by its address."""
        self.page.goto(f"{self.url}/admin/{path}")
        return self

    def visit(self, path: str) -> "AdminScreen":
        """Go to a page as its links do, without loading anything."""
        self.page.evaluate(
            """address => {
                history.pushState(null, '', address);
                dispatchEvent(new PopStateEvent('popstate'));
            }""",
            f"/admin/{path}",
        )
        return self

    def sign_in(self, token: str) -> "AdminScreen":
        """Go on as somebody else."""
        self.by("sign-out").click()
        self.by("token").fill(token)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        return self

    def approvals(self, run: Mapping[str, str]) -> Locator:
        """Return the cards of the calls that a run waits for."""
        return self.page.locator(f'[data-testid="approval"][data-run-id="{run["runId"]}"]')

    def expect_shown(self, test_id: str) -> Locator:
        """Wait until something is there, and return it."""
        found = self.by(test_id)
        expect(found.first).to_be_visible(timeout=FINISH_MS)
        return found

    def expect_run(self, status: str) -> None:
        """Wait until the run on show has this status."""
        shown = self.page.locator("header.title").get_by_test_id("run-status")
        expect(shown).to_have_attribute("data-status", status, timeout=FINISH_MS)

    def expect_no_sideways_scroll(self) -> None:
        """Hold the page to its width."""
        over = self.page.evaluate(
            """() => {
                const main = document.querySelector('main');
                const page = document.documentElement;
                return Math.max(main.scrollWidth - main.clientWidth, page.scrollWidth - innerWidth);
            }"""
        )
        assert over <= 0

    def violations(self, *rules: str) -> list[str]:
        """Return what axe finds wrong with the page, by these rules or by all of them."""
        # Through the debugger: the page itself takes no script but its own.
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self.page.evaluate(
            """rules => axe.run({
                resultTypes: ['violations'],
                preload: false,
                ...(rules.length > 0 && { runOnly: rules }),
            }).then(found => found.violations)""",
            list(rules),
        )
        return [
            f"{each['id']}: {node['target']} {node['failureSummary']}"
            for each in found
            for node in each["nodes"]
        ]


@contextmanager
def admin_browsers(browser: Browser, url: str, patience_ms: float) -> Iterator[OpenAdmin]:
    """Yield what opens the admin UI in a browser of its own; they are closed in the end."""
    with ExitStack() as stack:

        def open_(path: str = "", *, width: int = 1280) -> AdminScreen:
            # Without transitions: a colour on its way from one theme to the other is neither's.
            context = browser.new_context(
                viewport={"width": width, "height": 860}, reduced_motion="reduce"
            )
            stack.callback(context.close)
            context.set_default_timeout(patience_ms)
            return AdminScreen(context.new_page(), url).go(path)

        yield open_


class Desk:
    """Somebody who talks to the agents over HTTP."""

    def __init__(self, dev: DevProcess, *, role: str | None = None) -> None:
        self.dev = dev
        query = {} if role is None else {"role": role}
        session = httpx2.get(f"{dev.url}/dev/session", params=query).json()
        self.token = str(session["token"])
        self._headers = {"authorization": f"Bearer {self.token}"}

    def say(self, message: str, *, title: str | None = None, agent: str = "desk") -> dict[str, str]:
        """Start a conversation; return its ``sessionId`` and ``runId``."""
        body = {"message": message} | ({"title": title} if title else {})
        answer = httpx2.post(f"{self.dev.url}/agents/{agent}", json=body, headers=self._headers)
        assert answer.status_code == 202, answer.text
        started: dict[str, str] = answer.json()
        return started

    def call(self, ref: str, **arguments: Any) -> Any:  # noqa: ANN401  # whatever it answers
        """Call a function of the server."""
        url = f"{self.dev.url}/functions/{ref}"
        answer = httpx2.post(url, json=arguments, headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


def keep(screen: AdminScreen, folder: Path, name: str) -> None:
    """Keep a picture of what is on show."""
    folder.mkdir(parents=True, exist_ok=True)
    screen.page.screenshot(path=str(folder / f"{name}.png"))
