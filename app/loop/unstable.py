"""A predicate that answers otherwise the second time is told of; what was recorded stands.

The gate is asked once, in the step that records the answer.  When a run comes back to a turn, its
open calls are shown to the gate again, so that whoever declared a predicate that looks at a clock,
at chance or at a setting learns of it.  Nothing hangs on what it says then.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from app.authoring.approval_policy import ApprovalPolicy
from app.authoring.tools import Offer
from app.loop.gate import STANDING, Gate, passage
from app.loop.planned import PlannedCall

log = logging.getLogger(__name__)

PATIENCE_S: Final = 1.0
"""A run that comes back does not wait longer for predicates whose answer changes nothing."""


async def report_unstable(calls: Sequence[PlannedCall], tools: Mapping[str, Offer]) -> None:
    """Warn of each predicate that would answer otherwise now."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            for each in calls:
                await _report(each, tools)
    except TimeoutError:
        log.warning("needs_approval takes long; it should look at the call alone")


async def _report(planned: PlannedCall, tools: Mapping[str, Offer]) -> None:
    tool = tools.get(planned.call.tool_name)
    if tool is None or planned.gate in STANDING or not _has_predicate(tool):
        return
    now = await passage(planned.call, tools)
    if now.gate not in {planned.gate, Gate.SHUT}:
        log.warning(
            "needs_approval of %s said %r for call %s and says %r now; the first answer stands. "
            "It should look at the call alone: no clock, no chance, no setting",
            tool.name,
            planned.gate.value,
            planned.id,
            now.gate.value,
        )


def _has_predicate(tool: Offer) -> bool:
    needs = tool.options.needs_approval
    return callable(needs.when if isinstance(needs, ApprovalPolicy) else needs)
