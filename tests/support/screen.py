"""The chat as a person at a browser sees and uses it."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.support.sessions import View

FINISH_MS = 30_000


class Screen:
    """One tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def by(self, test_id: str) -> Locator:
        """Return the elements with this test id."""
        return self.page.get_by_test_id(test_id)

    @property
    def address(self) -> str:
        """Where another tab finds the same thread."""
        return self.page.url

    @property
    def key(self) -> str:
        """The key of the thread that is shown."""
        return self.page.url.rpartition("#")[2].removeprefix("/")

    def send(self, text: str) -> None:
        """Type and send."""
        self.by("composer").fill(text)
        self.by("send").click()

    def watch_bubbles(self, text: str) -> None:
        """Count the messages with this text whenever the page changes, from the first one on."""
        self.page.evaluate(
            """text => {
                window.bubbleCounts = new Set();
                const count = () => {
                    const found = [...document.querySelectorAll('[data-testid="message"]')];
                    const same = found.filter(
                        node => node.querySelector('.text')?.textContent === text
                    ).length;
                    if (same > 0 || window.bubbleCounts.size > 0) window.bubbleCounts.add(same);
                };
                new MutationObserver(count).observe(document.body, {
                    subtree: true, childList: true, characterData: true, attributes: true,
                });
            }""",
            text,
        )

    def bubbles_seen(self) -> set[int]:
        """Return how many such messages there ever were at a time."""
        return set(self.page.evaluate("[...window.bubbleCounts]"))

    def expect_status(self, *statuses: str) -> None:
        """Wait until the run has one of these statuses."""
        status = self.page.locator('[data-testid="status"]')
        pattern = re.compile("^(" + "|".join(statuses) + ")$")
        expect(status).to_have_attribute("data-status", pattern, timeout=FINISH_MS)

    def expect_answer(self, text: str) -> None:
        """Wait until the last answer contains this."""
        answers = self.page.locator('[data-testid="message"][data-role="assistant"]')
        expect(answers.last).to_contain_text(text, timeout=FINISH_MS)

    def expect_nothing_streams(self) -> None:
        """Hold the screen to showing stored messages only."""
        expect(self.by("streaming")).to_have_count(0)

    def message_ids(self) -> list[str]:
        """Return the ids of all messages on the screen, in order, tool results included."""
        found = self.page.locator('[data-testid="message"]').evaluate_all(
            "nodes => nodes.map(node => node.dataset.messageId)"
        )
        return [str(each) for each in found]

    def expect_stored(self, view: View) -> None:
        """Hold the screen to showing exactly the messages that are stored."""
        stored = [row["id"] for row in view["messages"]]
        assert sorted(self.message_ids()) == sorted(stored)
        assert len(set(self.message_ids())) == len(stored)
