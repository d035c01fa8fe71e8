"""These tests run on uvloop, as a gateway does; those of the frames on asyncio's loop as well."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

_LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "uvloop": uvloop.new_event_loop,
    "asyncio": asyncio.new_event_loop,
}


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the loops that a test of this folder runs on."""
    both = item.path.name == "test_frames.py"
    return _LOOPS if both else {"uvloop": _LOOPS["uvloop"]}
