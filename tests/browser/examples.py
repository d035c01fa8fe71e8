"""The example apps, built from this working tree and served where a deployed page would be."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Route

from tests.browser.conftest import PATIENCE_MS
from tests.support.dev_process import ROOT, DevProcess
from tests.support.example_screen import ElementScreen, ExampleScreen

FRAMEWORKS = ("react", "vue", "solid", "svelte")
DESK = (1100, 760)
PHONE = (390, 780)
_SDK = ROOT / "frontend-sdk"


def build_examples(folder: Path) -> Path:
    """Build all examples below ``folder`` and return it."""
    node = shutil.which("node")
    assert node is not None, "Node.js is missing"
    command = [node, "examples/build.mjs", str(folder)]
    done = subprocess.run(command, cwd=_SDK, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@dataclass(frozen=True)
class Examples:
    """Opens the apps in browsers of their own, at an address of the gateway's origin."""

    browser: Browser
    dev: DevProcess
    built: Path

    def context(self, size: tuple[int, int] = DESK) -> BrowserContext:
        """Return a new browser, in which the examples are part of the site."""
        # What a test answers comes from no network, and such a page may not call on this machine.
        context = self.browser.new_context(
            permissions=["local-network-access"], viewport={"width": size[0], "height": size[1]}
        )
        context.set_default_timeout(PATIENCE_MS)
        context.route("**/examples/**", lambda route: route.fulfill(path=self._file(route)))
        return context

    def open(
        self,
        app: str,
        key: str = "",
        *,
        context: BrowserContext | None = None,
        size: tuple[int, int] = DESK,
    ) -> ExampleScreen:
        """Open an app, on a conversation if its key is given."""
        context = context or self.context(size)
        page = context.new_page()
        page.goto(f"{self.dev.url}/examples/{app}/index.html" + (key and f"#{key}"))
        return ElementScreen(page) if app == "element" else ExampleScreen(page)

    def _file(self, route: Route) -> Path:
        return self.built / route.request.url.partition("/examples/")[2]
