"""Which calls of an answer may run: now, after a person agreed, or not at all.

The decision is taken inside the model's step and recorded with it, so a predicate
that answers differently the next time cannot fork a resumed run.  The gate sees
valid arguments only, and fails closed: a predicate that raises or hangs means that
a person is asked.
"""

import asyncio
import inspect
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic_ai.messages import ToolCallPart

from app.authoring.approval_policy import ApprovalPolicy, NeedsApproval, rules_of
from app.authoring.contained import contained
from app.authoring.tool_schema import Arguments, ArgumentsRefused
from app.authoring.tools import Call, Offer
from app.domain.approval import NO_RULES, ApprovalRules
from app.domain.storable import Json
from app.loop.results import shortened

log = logging.getLogger(__name__)

PREDICATE_LIMIT_S: Final = 10.0


class Gate(StrEnum):
    """What the gate said of a call."""

    OPEN = "open"
    ASK = "ask"
    SHUT = "shut"
    """The call cannot be made: its result, an error, stands already."""
    TAKEN = "taken"
    """The call is the run's answer: nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The gate's word on one call.

    ``reason`` is for the model, when the gate is shut; ``rules`` are for who decides, when a
    person is asked.
    """

    gate: Gate
    reason: str = ""
    rules: ApprovalRules = NO_RULES

    def to_json(self) -> Json:
        """Return the form that the turn's record holds."""
        rules = self.rules.to_json()
        if rules:
            return [self.gate.value, self.reason, rules]
        return [self.gate.value, self.reason] if self.reason else [self.gate.value]

    @classmethod
    def from_json(cls, stored: Json) -> "Passage":
        """Return what ``to_json`` wrote."""
        match stored:
            case [gate, reason, rules]:
                return cls(Gate(str(gate)), str(reason), ApprovalRules.from_json(rules))
            case [gate, reason]:
                return cls(Gate(str(gate)), str(reason))
            case [gate] | gate:
                return cls(Gate(str(gate)))


STANDING: Final = frozenset({Gate.SHUT, Gate.TAKEN})
"""The result of such a call is recorded with it."""


async def passage(
    call: ToolCallPart, tools: Mapping[str, Offer], *, always_ask: bool = False
) -> Passage:
    """Return whether a call may run; ``always_ask``: not before a person has agreed."""
    tool = tools.get(call.tool_name)
    if tool is None:
        return Passage(Gate.SHUT, unknown_tool(call.tool_name, tools))
    try:
        with contained("a validator"):
            arguments = tool.parameters.validate(call.args)
    except ArgumentsRefused as refused:
        return Passage(Gate.SHUT, f"The arguments of {tool.name} do not fit. {refused}")
    except Exception as error:
        log.exception("the arguments of %s could not be checked", tool.name)
        problem = f"{type(error).__name__}: {shortened(str(error))}"
        return Passage(Gate.SHUT, f"The arguments of {tool.name} could not be checked. {problem}")
    if always_ask or await _asks(tool, arguments):
        return Passage(Gate.ASK, rules=rules_of(tool.options.needs_approval))
    return Passage(Gate.OPEN)


def unknown_tool(name: str, tools: Mapping[str, Offer]) -> str:
    """Return what to tell a model that calls a tool there is not."""
    known = ", ".join(tools) or "none"
    return f"There is no tool {name!r}. The tools are: {known}."


async def _asks(tool: Offer, arguments: Arguments) -> bool:
    needs: NeedsApproval = tool.options.needs_approval
    if isinstance(needs, ApprovalPolicy):
        needs = True if needs.when is None else needs.when
    if isinstance(needs, bool):
        return needs
    try:
        async with asyncio.timeout(PREDICATE_LIMIT_S):
            with contained("needs_approval"):
                answer = needs(Call(arguments))
                return bool(await answer if inspect.isawaitable(answer) else answer)
    except Exception:
        log.exception("needs_approval of %s raised, so a person is asked", tool.name)
        return True
