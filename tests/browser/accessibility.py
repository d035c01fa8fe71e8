"""What axe finds wrong with a page: nothing."""

from tests.support.dev_process import ROOT
from tests.support.example_screen import ExampleScreen
from tests.support.screen import Screen

_AXE = ROOT / "frontend-sdk" / "node_modules" / "axe-core" / "axe.min.js"


def expect_accessible(screen: Screen | ExampleScreen) -> None:
    """Hold the page, as it stands, to all of axe's rules."""
    screen.page.evaluate(_AXE.read_text())
    found = screen.page.evaluate(
        """async () => (await axe.run(document)).violations.map(({id, help, nodes}) =>
            `${id}: ${help}: ${nodes.map(node => node.html.slice(0, 200)).join(' | ')}`)"""
    )
    assert not found, "\n".join(found)
