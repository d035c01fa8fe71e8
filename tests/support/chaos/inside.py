"""What the processes of a storm do beyond production.

They write down the bodies that they run, sign their sessions, and are broken on purpose where a
test says so.
"""

import os
from typing import Any

from app.engine.durable_run import DurableRun
from app.engine.steps import StepContext, StepResult
from tests.support import body_log
from tests.support.chaos.breaks import BREAKS
from tests.support.crash_points.pace import sign_sessions

BREAKS_NAMED = "CHAOS_BREAKS"


def prepare_this_process() -> None:
    """Patch a forked process before its command begins."""
    sign_sessions()
    _note_bodies()
    for name in filter(None, os.environ.get(BREAKS_NAMED, "").split(", ")):
        BREAKS[name]()


def _note_bodies() -> None:
    """Let every step write down when its body starts and when it returns."""
    whole = DurableRun.step

    async def step(self: DurableRun, name: str, body: Any, **options: Any) -> Any:  # noqa: ANN401
        async def noted(context: StepContext) -> StepResult:
            key, attempt = context.idempotency_key, context.attempt
            body_log.note("start", self.thread.key, key, attempt)
            result: StepResult = await body(context)
            body_log.note("end", self.thread.key, key, attempt)
            return result

        return await whole(self, name, noted, **options)

    DurableRun.step = step  # type: ignore[method-assign]  # that is the point
