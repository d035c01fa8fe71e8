"""Log lines say which run, step and thread they belong to."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from app.telemetry.logs import current_context, log_context, set_up_logs

log = logging.getLogger("tests.telemetry")


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.req("IMP-33")
def test_a_json_line_carries_the_run_and_the_step_it_was_logged_in() -> None:
    out = io.StringIO()
    set_up_logs("json", "INFO", stream=out)

    with log_context(run="r1", thread="t1"), log_context(step="tool:pay:call_1"):
        log.info("paid %s", "bill", extra={"cents": 5})
    log.info("outside")

    inside, outside = (json.loads(line) for line in out.getvalue().splitlines())
    assert inside["message"] == "paid bill"
    assert (inside["run"], inside["thread"], inside["step"]) == ("r1", "t1", "tool:pay:call_1")
    assert inside["cents"] == 5
    assert "run" not in outside


def test_a_text_line_ends_in_the_names_and_carries_the_traceback() -> None:
    out = io.StringIO()
    set_up_logs("text", "INFO", stream=out)

    with log_context(run="r1"):
        try:
            int("no good")
        except ValueError:
            log.exception("failed")

    first, *rest = out.getvalue().splitlines()
    assert first.endswith("error   tests.telemetry: failed run=r1")
    assert rest[-1].startswith("ValueError: invalid literal")


async def test_a_task_inherits_the_names_and_leaves_its_own_behind() -> None:
    async def inner() -> dict[str, object]:
        with log_context(step="s"):
            return dict(current_context())

    with log_context(run="r"):
        seen = await asyncio.create_task(inner())

        assert seen == {"run": "r", "step": "s"}
        assert dict(current_context()) == {"run": "r"}


def test_a_line_below_the_level_is_not_written() -> None:
    out = io.StringIO()
    set_up_logs("json", "WARNING", stream=out)

    log.info("quiet")

    assert out.getvalue() == ""


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
@pytest.mark.parametrize("name", ["httpx2", "httpcore2.connection"])
def test_an_address_that_is_asked_is_not_written(name: str, level: str) -> None:
    stream = io.StringIO()
    set_up_logs("text", level, stream=stream)

    logging.getLogger(name).info("HTTP Request: POST https://host/hook/confidential")
    logging.getLogger(name).warning("it matters")

    assert "confidential" not in stream.getvalue()
    assert "it matters" in stream.getvalue()
