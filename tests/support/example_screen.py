"""An example app as a person sees and uses it, by roles and names: the same in all of them."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.screen import FINISH_MS
from tests.support.sessions import View


class ExampleScreen:
    """One tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def address(self) -> str:
        """Where another tab finds the same conversation."""
        return self.page.url

    @property
    def key(self) -> str:
        """The key of the conversation that is shown."""
        return self.page.url.rpartition("#")[2]

    @property
    def streaming(self) -> Locator:
        """What is being written."""
        return self.page.get_by_role("article", name="Assistant, writing")

    @property
    def messages(self) -> Locator:
        """Everything that is stored, the results in the tools' cards included."""
        return self.page.locator("[data-message-id]")

    def button(self, name: str) -> Locator:
        """Return the buttons of this name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def said(self, who: str) -> Locator:
        """Return the bubbles of ``You`` or of ``Assistant``."""
        return self.page.get_by_role("article", name=who, exact=True)

    def card(self, state: str, name: str = "") -> Locator:
        """Return the cards of tools in a state, as ``Done``."""
        return self.page.get_by_role("group", name=re.compile(f"^Tool {name}.*: {state}$"))

    def send(self, text: str) -> None:
        """Type and press Enter."""
        field = self.page.get_by_role("textbox", name="Message")
        field.fill(text)
        field.press("Enter")

    def fill(self, name: str, text: str) -> None:
        """Fill the field of this name."""
        self.page.get_by_role("textbox", name=name).fill(text)

    def watch(self, text: str) -> None:
        """Count the bubbles with this text at every change from now on, from the first one on."""
        self.page.evaluate(
            """text => {
                window.bubbleCounts = new Set();
                const root = document.querySelector("ropewalk-chat")?.shadowRoot ?? document.body;
                new MutationObserver(() => {
                    const said = [...root.querySelectorAll('article[aria-label="You"] p')];
                    const same = said.filter(node => node.textContent === text).length;
                    if (same > 0 || window.bubbleCounts.size > 0) window.bubbleCounts.add(same);
                }).observe(root, {
                    subtree: true, childList: true, characterData: true, attributes: true,
                });
            }""",
            text,
        )

    def bubbles_seen(self) -> set[int]:
        """Return how many of those bubbles there ever were at a time."""
        return set(self.page.evaluate("[...window.bubbleCounts]"))

    def expect_status(self, *statuses: str) -> None:
        """Wait until the conversation has one of these statuses."""
        pattern = re.compile("^(" + "|".join(statuses) + ")$")
        status = self.page.locator("[data-status]")
        expect(status).to_have_attribute("data-status", pattern, timeout=FINISH_MS)

    def expect_speaking(self, least: int = 1) -> None:
        """Wait until so many letters stand in what is being written."""
        pattern = re.compile(r"[\s\S]{" + f"{least}}}")
        expect(self.streaming.first).to_have_text(pattern, timeout=FINISH_MS)

    def message_ids(self) -> list[str]:
        """Return the ids of all that is stored, in the order of the page."""
        found = self.messages.evaluate_all("nodes => nodes.map(node => node.dataset.messageId)")
        return [str(each) for each in found]

    def expect_stored(self, view: View) -> None:
        """Wait until what is stored is shown, each once, and nothing is being written."""
        stored = sorted(row["id"] for row in view["messages"])
        expect(self.messages).to_have_count(len(stored), timeout=FINISH_MS)
        expect(self.streaming).to_have_count(0)
        assert sorted(self.message_ids()) == stored


class ElementScreen(ExampleScreen):
    """A page with the element, which keeps the key of its conversation to itself."""

    @property
    def key(self) -> str:
        """The key of the conversation that is shown."""
        return str(self.page.evaluate("document.querySelector('ropewalk-chat').threadKey"))
