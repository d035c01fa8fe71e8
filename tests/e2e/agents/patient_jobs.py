"""Where a test asks for it, arq's jobs may take hours, and beside them is one that may take longer.

``JOBS_MAY_TAKE_S`` says how long.  arq would find a lost job after the longest of all limits.
"""

import os
from typing import Any

from arq.worker import Worker, func

from app.queue import worker as queue_worker
from tests.support.counted import note

_begin = Worker.__init__


async def _idle(ctx: dict[Any, Any]) -> None:
    del ctx  # nobody enqueues it: its limit is what it is here for


def _begin_patiently(self: Worker, functions: Any, **options: Any) -> None:  # noqa: ANN401  # arq's own
    limit_s = float(os.environ["JOBS_MAY_TAKE_S"])
    _begin(self, [*functions, func(_idle, name="idle", timeout=6 * limit_s)], **options)
    note("limit", str(self.in_progress_timeout_s))


if "JOBS_MAY_TAKE_S" in os.environ:
    queue_worker.JOB_S = float(os.environ["JOBS_MAY_TAKE_S"])
    Worker.__init__ = _begin_patiently  # type: ignore[method-assign, assignment]  # what this file is for
