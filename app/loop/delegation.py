"""Calls that another agent answers: a child run, which the asking run waits for.

The child has a private thread; its ids follow from the call, so a call that is tried again
rejoins it (TOOL-06).  Its end is the fact ``child:CALL`` of the asking run, which is parked
meanwhile and holds nothing.  The call's result is recorded like any other, once that fact,
or the timer that gives up, is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from app.authoring.agent_tool import ChildTool
from app.authoring.tool_schema import ArgumentsRefused
from app.domain.errors import ClientFault
from app.domain.facts import NewTimer, child_fact, timer_fact
from app.domain.ids import child_id
from app.domain.message import text_part
from app.domain.output_policy import form_policy
from app.domain.ports import StartRun
from app.domain.run import ParentStep, RunStatus, Terms, Waits
from app.domain.storable import Json, encode
from app.engine.durable_run import DurableRun
from app.engine.steps import MISSING
from app.loop.planned import PlannedCall
from app.loop.results import Outcome, failed, outcome_of
from app.threads.starting import checked_text, title_of

MAX_DEPTH: Final = 8
"""Agents that ask one another in a circle end here instead of never."""

DEPTH: Final = "depth"
"""In a run's policy: how many runs stand above it."""


@dataclass(slots=True)
class Errand:
    """A call on its way through a child run."""

    run: DurableRun
    planned: PlannedCall
    tool: ChildTool
    _stopped: Outcome | None = field(default=None, init=False)

    @property
    def child_run(self) -> str:
        """The child's run id."""
        return child_id(self.run.run.id, self.planned.step, "run")

    @property
    def outcome(self) -> Outcome | None:
        """What the call came to; ``None`` while the child is under way."""
        if self._stopped is not None:
            return self._stopped
        end = self.run.recorded(child_fact(self.planned.id))
        if end is not MISSING:
            return outcome_of_child(end, self.tool.name)
        if self._deadline and self.run.recorded(self._deadline.fact) is not MISSING:
            return self._given_up(self._deadline.after)
        return None

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts of which one ends the wait."""
        end = child_fact(self.planned.id)
        return (end, self._deadline.fact) if self._deadline else (end,)

    @property
    def timers(self) -> tuple[NewTimer, ...]:
        """The timer that gives up, if there is a limit."""
        return (self._deadline,) if self._deadline else ()

    async def begin(self) -> None:
        """Start the child, once however often this is asked.

        Raises:
            FenceLost: somebody else has the thread.
        """
        if self.outcome is not None or self.run.recorded(self.planned.step) is not MISSING:
            return
        if self._depth >= MAX_DEPTH:
            self._stopped = failed(
                f"{self.tool.name} was not asked: agents ask one another {MAX_DEPTH} deep here "
                "already. Answer with what you know."
            )
            return
        try:
            await self.run.spawn(self._start())
        except (ClientFault, ArgumentsRefused) as error:
            self._stopped = failed(f"{self.tool.name} could not be asked. {error}")

    @property
    def _depth(self) -> int:
        stored = self.run.run.policy.get(DEPTH)
        return stored if isinstance(stored, int) else 0

    @property
    def _deadline(self) -> NewTimer | None:
        after = self.tool.give_up_after
        return None if after is None else NewTimer(timer_fact(f"give-up:{self.planned.id}"), after)

    def _start(self) -> StartRun:
        parent, child, step = self.run.run, self.tool.agent, self.planned.step
        arguments = self.tool.parameters.validate(self.planned.call.args)
        text = checked_text(str(arguments["message"]))
        thread_id = child_id(parent.id, step, "thread")
        state = child.initial_state
        return StartRun(
            run_id=self.child_run,
            thread_id=thread_id,
            message_id=child_id(parent.id, step, "message"),
            thread_key=thread_id,
            agent=child.slug,
            parts=encode([text_part(text)]),
            owner=self.run.thread.owner,
            author=f"agent:{parent.agent}",
            title=title_of(text),
            initial_state=None if state is None else encode(state),
            terms=Terms(self._policy(), child.version, child.timeout),
            parent=ParentStep(self.run.thread.id, parent.id, child_fact(self.planned.id)),
        )

    def _policy(self) -> dict[str, Json]:
        output = self.tool.agent.output
        form = form_policy(None, None if output is None else output.schema)
        return {DEPTH: self._depth + 1, **form}

    def _given_up(self, after: timedelta) -> Outcome:
        return failed(
            f"{self.tool.name} has not answered within {after.total_seconds():g} s. "
            f"Its run {self.child_run} is still under way."
        )


def outcome_of_child(end: Json, name: str) -> Outcome:
    """Return what a child's end means for the call that it answers."""
    match end:
        case {"status": RunStatus.COMPLETED.value, "answer": answer}:
            return outcome_of(answer, name)
        case {"status": RunStatus.CANCELLED.value, "runId": run_id}:
            return failed(f"{name} was stopped before it had answered (run {run_id}).")
        case {"error": {"message": str(message)}, "runId": run_id}:
            return failed(f"{name} failed (run {run_id}). {message}")
        case _:
            return failed(f"{name} ended without an answer.")


def waits_for(undecided: Sequence[str], errands: Sequence[Errand]) -> Waits:
    """Return the condition under which a turn can go on.

    That is the last of the decisions, since approved calls run together, or any child's end:
    its result is stored and shown when it comes.  As groups of which every one needs a fact:
    each undecided call, or else a child.
    """
    landing = tuple(fact for errand in errands for fact in errand.facts)
    return Waits(tuple((each, *landing) for each in undecided) or (landing,))
