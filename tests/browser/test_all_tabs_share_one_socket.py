"""Three tabs of one browser, with its own locks and channels, over one socket to a real server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, WebSocket

from tests.browser.test_the_chat_shows_what_is_stored import stored
from tests.support.dev_process import ROOT, DevProcess, dev_process
from tests.support.wait_until import wait_until_sync

SDK = ROOT / "frontend-sdk"
OPEN = """() => {
    const token = async () => (await (await fetch("/dev/session")).json()).token;
    const client = sdk.createClient({ url: "/ws", token, tabs: sdk.sharedTabs() });
    window.chat = sdk.createChat(client, "shared-1");
    window.twice = false;
    chat.state.subscribe(() => {
        const { messages, live } = chat.state.get();
        const keys = [...messages.map(one => one.dedupe ?? one.id), ...live.map(one => one.run)];
        twice ||= new Set(keys).size < keys.length;
    });
}"""
SHOWN = "() => chat.state.get().messages.map(({ id }) => id)"
TEXTS = "() => chat.state.get().messages.map(({ text }) => text)"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    never = str(tmp_path_factory.mktemp("model") / "broken")
    agents = Path(__file__).parent / "agents"
    with dev_process(agents=agents, env={"BROKEN_FILE": never}) as process:
        yield process.start()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core as one script."""
    made = tmp_path_factory.mktemp("sdk") / "sdk.js"
    esbuild = SDK / "node_modules" / ".bin" / "esbuild"
    options = ["--bundle", "--global-name=sdk", "--log-level=warning", f"--outfile={made}"]
    subprocess.run([esbuild, "src/core/index.ts", *options], cwd=SDK, check=True)
    return made


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context()
    yield made
    made.close()


class Tab:
    """One tab, and the sockets that it holds."""

    def __init__(self, context: BrowserContext, dev: DevProcess, bundle: Path) -> None:
        self.page: Page = context.new_page()
        self._sockets: list[WebSocket] = []
        self.page.on("websocket", self._opened)
        # Any address of the server will do that has no page of its own.
        self.page.goto(f"{dev.url}/dev/session")
        self.page.add_script_tag(path=bundle)
        self.page.evaluate(OPEN)
        self.wait_for("s.status !== 'loading'")

    def _opened(self, socket: WebSocket) -> None:
        self._sockets.append(socket)

    @property
    def open_sockets(self) -> int:
        self.page.evaluate("0")  # hear of what has happened
        return sum(not socket.is_closed() for socket in self._sockets)

    def wait_for(self, condition: str) -> None:
        self.page.wait_for_function(f"() => {{ const s = chat.state.get(); return {condition}; }}")


def expect_one_socket(tabs: list[Tab]) -> None:
    wait_until_sync(
        lambda: sum(tab.open_sockets for tab in tabs) == 1,
        description="there is one socket",
        timeout_s=20,
    )


@pytest.mark.req("SUB-03", "SUB-05")
def test_they_go_on_and_agree_when_the_tab_that_holds_the_socket_is_closed_mid_stream(
    context: BrowserContext, dev: DevProcess, bundle: Path
) -> None:
    leader, *others = tabs = [Tab(context, dev, bundle) for _ in range(3)]
    expect_one_socket(tabs)
    assert leader.open_sockets == 1

    others[0].page.evaluate("() => { chat.send({ run: 'chat:startRun' }, 'Tell me a story'); }")
    for tab in tabs:
        tab.wait_for("s.streamingText.includes('word5')")
    leader.page.close()

    for tab in others:
        tab.wait_for("s.status === 'completed' && s.messages.length === 2")
        assert tab.page.evaluate("twice") is False
    view = stored(dev, "shared-1")
    for tab in others:
        assert tab.page.evaluate(SHOWN) == [row["id"] for row in view["messages"]]
        assert tab.page.evaluate(TEXTS)[1].endswith("word59 told.")
    expect_one_socket(others)

    for index, tab in enumerate(others):
        tab.page.evaluate(f"() => chat.send({{ run: 'chat:startRun' }}, 'hello {index}')")
    for tab in others:
        tab.wait_for("s.status === 'completed' && s.messages.length >= 6")
    assert others[0].page.evaluate(SHOWN) == others[1].page.evaluate(SHOWN)
    expect_one_socket(others)
