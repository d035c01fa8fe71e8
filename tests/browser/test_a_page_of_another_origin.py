"""Whom a real browser lets through: a page of another port calls the routes if it is listed.

The three clients that speak HTTP, with a bearer token, against a real ``dev``; and the same page
on a port that is not listed.  Neither is ever signed in by ``/dev/session``.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import PATIENCE_MS
from tests.browser.story_agents.support import FIRST_LINE, THE_REST
from tests.support.dev_process import ROOT, DevProcess, dev_process

HERE = Path(__file__).parent
NO_ANSWER = {"name": "TypeError"}
"""What a browser tells a page whose request it kept back, or the answer to it."""


@dataclass(frozen=True)
class Sites:
    """The same built page under two origins; the gateway knows of the first."""

    listed: str
    stranger: str


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    """Serve a folder on a port of its own; yield the origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=folder)) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    folder = tmp_path_factory.mktemp("page")
    node = shutil.which("node")
    assert node is not None, "Node.js is missing"
    script, sdk = HERE / "other_origin" / "build.mjs", ROOT / "frontend-sdk"
    command = [node, str(script), str(sdk), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with _site(folder) as listed, _site(folder) as stranger:
        yield Sites(listed, stranger)


@pytest.fixture(scope="module")
def hold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """While this file is there, a story stops in the middle."""
    return tmp_path_factory.mktemp("hold") / "story"


@pytest.fixture(scope="module")
def dev(sites: Sites, hold: Path) -> Iterator[DevProcess]:
    env = {"ALLOWED_ORIGINS": sites.listed, "HOLD_FILE": str(hold)}
    with dev_process(agents=HERE / "story_agents", env=env) as process:
        yield process.start()


@pytest.fixture(scope="module")
def asked(dev: DevProcess) -> tuple[str, str]:
    """Return the gateway and a token of Ann's."""
    command = [sys.executable, "-m", "app.main.cli", "token", "--user", "ann"]
    command += ["--data-dir", str(dev.data_dir)]
    minted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dev.url, minted.stdout.strip()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str], Page]]:
    with ExitStack() as stack:

        def open_(origin: str) -> Page:
            context = browser.new_context()
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto(origin)
            return page

        yield open_


def _tell(page: Page, what: str, *asked: str) -> Any:  # noqa: ANN401  # JSON
    return page.evaluate(f"given => {what}(...given)", asked)


@pytest.mark.req("SDK-14")
def test_a_listed_page_uses_every_client_as_its_own_server_would(
    open_page: Callable[[str], Page], sites: Sites, asked: tuple[str, str], hold: Path
) -> None:
    page = open_page(sites.listed)

    told = _tell(page, "server", *asked)
    assert told == {
        "text": "You said: hello ",
        "status": "completed",
        "missing": {"name": "RopewalkError", "code": "NOT_FOUND", "status": 404},
        "invalid": {"name": "RopewalkError", "code": "INVALID_ARGUMENT", "status": 400},
        "forged": {"name": "RopewalkError", "code": "UNAUTHENTICATED", "status": 401},
    }
    assert _tell(page, "agUi", *asked) == "You said: hello "

    # The first words are there while the rest is not even said.
    hold.touch()
    _tell(page, "chat", *asked)
    page.wait_for_function("line => words() === line", arg=FIRST_LINE + " ")
    hold.unlink()
    page.wait_for_function("all => words() === all", arg=f"{FIRST_LINE} {THE_REST} ")
    assert page.evaluate("errors") == []


def test_a_page_that_is_not_listed_gets_nothing_through(
    open_page: Callable[[str], Page], sites: Sites, asked: tuple[str, str]
) -> None:
    url, token = asked
    page = open_page(sites.stranger)
    headers = {"authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=30) as ann:
        before = ann.get("/agents/support/sessions").json()

        _tell(page, "chat", *asked)
        page.wait_for_function("() => errors.length > 0")
        assert page.evaluate("errors") == ["Failed to fetch"]
        assert _tell(page, "server", *asked) == {"name": "RopewalkError", "code": "UNAVAILABLE"}
        assert _tell(page, "agUi", *asked) == NO_ANSWER

        assert ann.get("/agents/support/sessions").json() == before


@pytest.mark.req("IMP-04")
def test_no_page_of_another_origin_is_signed_in(
    open_page: Callable[[str], Page], sites: Sites, dev: DevProcess
) -> None:
    session = f"{dev.url}/dev/session?role=admin"

    assert open_page(dev.url).evaluate(f"async () => (await fetch('{session}')).status") == 200
    told = {
        each: _tell(open_page(each), "read", session) for each in (sites.listed, sites.stranger)
    }
    assert told == {sites.listed: NO_ANSWER, sites.stranger: NO_ANSWER}
