"""``agents:agentApprovals``, ``agentResolveApproval`` and ``...Approvals``: people in the loop.

They check for themselves who may see and decide what (R8).  A decision is on exactly what was
shown, and many are made or none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from app.authoring.contexts import ActionContext, QueryContext
from app.authoring.functions import FunctionKind, ServerFunction, action
from app.domain.approval import Approval, ApprovalStatus, Decider, Decision, NewDecision, Place
from app.domain.errors import ClientFault, Conflict, InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.override import UNGOVERNED, Governed
from app.domain.ports import GovernanceReader
from app.domain.storable import Json
from app.domain.tables import GOVERNANCE, THREADS
from app.functions.agent_runs import AgentCard, AgentRuns
from app.functions.builtin_reads import Key
from app.threads.approvers import as_governed, check_may_decide, may_decide
from app.threads.limits import INBOX_LIMIT, MAX_BATCH, MAX_REASON, PAGE_LIMIT_MAX
from app.threads.people import is_called
from app.threads.views import approval_record

CallId = Annotated[str, Field(min_length=1)]
Verdict = Literal["approved", "denied"]
Reason = Annotated[str, Field(max_length=MAX_REASON)]
Edit = dict[str, JsonValue]
Via = Literal["api", "cli", "dashboard"]

Misfit = Callable[[str, str, Mapping[str, Json]], str | None]
"""Returns why a tool of an agent does not take these arguments; ``None``: it does.

Raises ``Conflict`` when there is no such tool any more.
"""


class ApprovalDecision(BaseModel):
    """One of many decisions."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    tool_call_id: CallId
    decision: Verdict
    reason: Reason | None = None
    edited_input: Edit | None = None
    input_hash: str | None = None


class ApprovalFunctions:
    """The functions, over the agents that were loaded."""

    def __init__(
        self,
        runs: AgentRuns,
        agents: Mapping[str, AgentCard],
        misfit: Misfit,
        *,
        open_threads_decide: bool,
        governance: GovernanceReader,
    ) -> None:
        """Hold what the functions need.

        Args:
            runs: the stores.
            agents: by slug.
            misfit: says whether a tool, as its code is now, takes some arguments.
            open_threads_decide: whether whoever knows an ownerless thread's key may decide
                its approvals (R9).
            governance: says what operators say of the agents.
        """
        self._governance = governance
        self._runs = runs
        self._agents = agents
        self._misfit = misfit
        self._open_threads = open_threads_decide

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            ServerFunction(
                self.approvals,
                kind=FunctionKind.QUERY,
                name="agent_approvals",
                reads=(THREADS, GOVERNANCE),
            ),
            action(name="agent_resolve_approval", idempotent=True)(self.resolve),
            action(name="agent_resolve_approvals", idempotent=True)(self.resolve_all),
        ]

    async def approvals(
        self,
        ctx: QueryContext,
        *,
        key: Key | None = None,
        status: Literal["pending", "all"] = "pending",
        limit: Annotated[int, Field(ge=1, le=INBOX_LIMIT)] = PAGE_LIMIT_MAX,
    ) -> list[dict[str, JsonValue]]:
        """Return what waits for the caller's decision, or is his to see, the oldest first.

        With ``key`` those of one thread; with ``all`` the newest of what was decided, too.
        """
        found = await self._runs.reader.approvals(
            key=key,
            everything=status == "all",
            visible_to=ctx.auth,
            agents=self._responsible_for(ctx.auth),
            limit=limit,
        )
        return await self.shown(found, ctx.auth)

    async def shown(
        self, found: Sequence[Approval], caller: Identity
    ) -> list[dict[str, JsonValue]]:
        """Return approvals as the caller sees them, each with whether it is his to decide."""
        governed = await self._governance.governed()
        return [
            approval_record(each, may_decide=self._may_decide(each, caller, governed))
            for each in (as_governed(one, governed.of(one.agent)) for one in found)
        ]

    async def resolve(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        tool_call_id: CallId,
        decision: Verdict,
        reason: Reason | None = None,
        edited_input: Edit | None = None,
        input_hash: str | None = None,
        via: Via = "api",
    ) -> dict[str, JsonValue]:
        """Decide the tool call that waits; the same decision again answers the stored one."""
        asked = NewDecision(tool_call_id, Decision(decision), reason, edited_input, input_hash)
        (decided,) = await self._decide(key, [asked], Decider(ctx.auth, Place(via)))
        return {
            "approvalId": decided.id,
            "decision": decided.status.value,
            "decidedBy": decided.decided_by,
        }

    async def resolve_all(
        self,
        ctx: ActionContext,
        *,
        key: Key,
        decisions: Annotated[list[ApprovalDecision], Field(min_length=1, max_length=MAX_BATCH)],
        via: Via = "api",
    ) -> list[dict[str, JsonValue]]:
        """Decide several calls of a thread, all or none; the run goes on once."""
        asked = [
            NewDecision(
                each.tool_call_id,
                Decision(each.decision),
                each.reason,
                each.edited_input,
                each.input_hash,
            )
            for each in decisions
        ]
        if len({each.tool_call_id for each in asked}) < len(asked):
            raise InvalidArgument("decisions: one call is decided twice")
        decided = await self._decide(key, asked, Decider(ctx.auth, Place(via)))
        return [
            {
                "approvalId": each.id,
                "toolCallId": each.tool_call_id,
                "decision": each.status.value,
                "decidedBy": each.decided_by,
            }
            for each in decided
        ]

    async def _decide(
        self, key: str, decisions: Sequence[NewDecision], by: Decider
    ) -> Sequence[Approval]:
        thread = await self._runs.reader.find(key)
        owner = None if thread is None else thread.owner
        may_know = by.identity.is_admin or (owner is not None and owner == by.identity.user_id)
        waiting = {
            each.tool_call_id: each
            for each in await self._runs.reader.approvals(
                key=key, everything=True, calls=[each.tool_call_id for each in decisions]
            )
        }
        governed = await self._governance.governed({each.agent for each in waiting.values()})
        thread_id = ""
        for each in decisions:
            with _naming(each.tool_call_id):
                found = waiting.get(each.tool_call_id)
                governance = UNGOVERNED if found is None else governed.of(found.agent)
                if found is None and may_know:
                    raise NotFound(f"no approval for tool call {each.tool_call_id!r}")
                approval = check_may_decide(
                    found and as_governed(found, governance),
                    by.identity,
                    responsible=self._responsible(found),
                    open_threads=self._open_threads,
                    governance=governance,
                )
                self._check_edit(approval, each)
                await self._check_code(approval, each)
            thread_id = approval.thread_id
        return await self._runs.store.decide(thread_id, decisions, by)

    def _check_edit(self, approval: Approval, decision: NewDecision) -> None:
        edited = decision.edited_input
        if edited is None:
            return
        if decision.decision is not Decision.APPROVED:
            raise InvalidArgument("editedInput goes with an approval; a denied call does not run")
        if not approval.rules.editable:
            raise InvalidArgument(f"the arguments of {approval.name} may not be changed")
        wrong = self._misfit(approval.agent, approval.name, edited)
        if wrong is not None:
            raise InvalidArgument(f"editedInput does not fit {approval.name}: {wrong}")

    async def _check_code(self, approval: Approval, decision: NewDecision) -> None:
        """Refuse to approve what the tool does not take any more: another one was shown (B32).

        A run that is pinned to other code than is loaded here goes on with its own.
        """
        card = self._agents.get(approval.agent)
        if (
            card is None
            or approval.name not in card.tools
            or decision.decision is not Decision.APPROVED
            or decision.edited_input is not None
            or approval.status is not ApprovalStatus.PENDING
        ):
            return
        given = approval.input if isinstance(approval.input, dict) else {}
        wrong = self._misfit(approval.agent, approval.name, given)
        if wrong is None:
            return
        run = await self._runs.reader.run(approval.run_id)
        if run is None or run.agent_version in {None, card.version}:
            raise Conflict(
                f"{approval.name} takes other arguments than when this was asked: {wrong}",
                {"input": approval.input},
            )

    def _may_decide(self, approval: Approval, caller: Identity, governed: Governed) -> bool:
        return may_decide(
            approval,
            caller,
            responsible=self._responsible(approval),
            open_threads=self._open_threads,
            governance=governed.of(approval.agent),
        )

    def _responsible(self, approval: Approval | None) -> str | None:
        card = None if approval is None else self._agents.get(approval.agent)
        return None if card is None else card.owner

    def _responsible_for(self, caller: Identity) -> list[str]:
        return [
            slug
            for slug, card in self._agents.items()
            if card.owner is not None and is_called(card.owner, caller)
        ]


@contextmanager
def _naming(tool_call_id: str) -> Iterator[None]:
    """Say in an error of the block which call it is about."""
    try:
        yield
    except ClientFault as error:
        error.data = {"toolCallId": tool_call_id, **(error.data or {})}
        raise
