"""``agents:admin...``: what the admin UI shows.  For callers with the role ``admin`` alone.

The shapes are declared in ``app.protocol.admin``; a test holds both together.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AwareDatetime, Field, JsonValue
from pydantic.alias_generators import to_camel

from app.authoring.agent import Agent, NamedTool
from app.authoring.agent_tool import AgentTool
from app.authoring.approval_policy import rules_of
from app.authoring.binding import bound_tool
from app.authoring.contexts import QueryContext
from app.authoring.function_tool import FunctionCatalog, FunctionTool
from app.authoring.functions import FunctionKind, ServerFunction
from app.domain.approval import Approval
from app.domain.errors import Forbidden
from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.run import Usage
from app.domain.run_filter import RunFilter
from app.domain.storable import Json
from app.domain.tables import GOVERNANCE, THREADS
from app.functions.ports import AdminReader
from app.models.prices import price_of
from app.threads.limits import PAGE_LIMIT, PAGE_LIMIT_MAX
from app.threads.views import message_view

LARGEST_VALUE = 1 << 16
"""Bytes of a step's value that are shown whole."""

_MESSAGES = 500
_APPROVALS = 500

MAX_WITHIN_S = 366 * 24 * 60 * 60
MAX_TOKENS = 1 << 53

ShowApprovals: TypeAlias = Callable[
    [Sequence[Approval], Identity], Awaitable[list[dict[str, JsonValue]]]
]

Limit = Annotated[int, Field(ge=1, le=PAGE_LIMIT_MAX)]


class AdminFunctions:
    """The queries, over a reader of everything."""

    def __init__(
        self,
        admin: AdminReader,
        agents: Mapping[str, Agent],
        catalog: FunctionCatalog,
        *,
        version: str,
        show_approvals: ShowApprovals,
    ) -> None:
        """Hold what they need; ``show_approvals`` says of each whether the caller may decide."""
        self._show_approvals = show_approvals
        self._admin = admin
        self._agents = agents
        self._catalog = catalog
        self._version = version

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        bodies: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "admin_runs": self.runs,
            "admin_run": self.run,
            "admin_threads": self.threads,
            "admin_agents": self.agents,
            "admin_system": self.system,
        }
        return [
            ServerFunction(body, kind=FunctionKind.QUERY, name=name, reads=(THREADS, GOVERNANCE))
            for name, body in bodies.items()
        ]

    async def runs(
        self,
        ctx: QueryContext,
        *,
        agent: str | None = None,
        status: str | None = None,
        owner: str | None = None,
        key: str | None = None,
        since: AwareDatetime | None = None,
        until: AwareDatetime | None = None,
        within_s: Annotated[int, Field(ge=1, le=MAX_WITHIN_S)] | None = None,
        min_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] | None = None,
        before: str | None = None,
        limit: Limit = PAGE_LIMIT,
    ) -> dict[str, JsonValue]:
        """Return runs, newest first, and how many there are in each status."""
        _check_admin(ctx.auth)
        which = RunFilter(agent, owner, key, since, until, within_s, min_tokens)
        rows = await self._admin.runs(which, status=status, before=before, limit=limit)
        counts = await self._admin.counts(which)
        return {
            "runs": [_run_row(row) for row in rows],
            "next": str(rows[-1]["id"]) if len(rows) == limit else None,
            "counts": dict(counts),
        }

    async def run(
        self, ctx: QueryContext, *, run_id: Annotated[str, Field(min_length=1)]
    ) -> dict[str, JsonValue] | None:
        """Return a run with its steps, children, decisions and messages."""
        _check_admin(ctx.auth)
        row = await self._admin.run(run_id)
        if row is None:
            return None
        more = await self._admin.more_of(run_id)
        approvals = await self._admin.approvals(more["thread"], run_id, _APPROVALS)
        messages = await self._admin.messages(more["thread"], run_id, _MESSAGES)
        return {
            "run": _run_row(row),
            "policy": more["policy"],
            "waits": more["waits"],
            "deadlineAt": _time(more["deadline_at"]),
            "steps": [_step_row(each) for each in await self._admin.steps(run_id, LARGEST_VALUE)],
            "children": [_run_row(each) for each in await self._admin.children(run_id)],
            "approvals": await self._show_approvals(approvals, ctx.auth),
            "messages": [message_view(each) for each in messages],
            "costs": {each.id: cost for each in messages if (cost := _cost_of(each)) is not None},
        }

    async def threads(
        self,
        ctx: QueryContext,
        *,
        agent: str | None = None,
        owner: str | None = None,
        status: str | None = None,
        search: str | None = None,
        before: str | None = None,
        limit: Limit = PAGE_LIMIT,
    ) -> dict[str, JsonValue]:
        """Return threads, newest activity first."""
        _check_admin(ctx.auth)
        rows = await self._admin.threads(
            agent=agent, owner=owner, status=status, search=search, before=before, limit=limit
        )
        return {
            "threads": [_row({**row, "id": None}, drop=("id",)) for row in rows],
            "next": str(rows[-1]["id"]) if len(rows) == limit else None,
        }

    async def agents(self, ctx: QueryContext) -> list[dict[str, JsonValue]]:
        """Return the agents as they are declared, with what is unfinished."""
        _check_admin(ctx.auth)
        unfinished = await self._admin.unfinished()
        return [
            self._agent(agent, unfinished.get(slug, {})) for slug, agent in self._agents.items()
        ]

    async def system(self, ctx: QueryContext) -> dict[str, JsonValue]:
        """Return workers, queue, counts, and what happened in the last hour."""
        _check_admin(ctx.auth)
        system = dict(await self._admin.system())
        unfinished: dict[str, int] = {}
        for by_status in (await self._admin.unfinished()).values():
            for status, runs in by_status.items():
                unfinished[status] = unfinished.get(status, 0) + runs
        return {
            **_row(system, drop=("workers", "minutes")),
            "workers": [_row(each) for each in system["workers"]],
            "minutes": [_row(each) for each in system["minutes"]],
            "unfinished": dict(unfinished),
            "version": self._version,
        }

    def _agent(self, agent: Agent, unfinished: Mapping[str, int]) -> dict[str, JsonValue]:
        instructions = agent.instructions
        return {
            "slug": agent.slug,
            "name": agent.name,
            "description": agent.description,
            "model": agent.model if isinstance(agent.model, str) else type(agent.model).__name__,
            "instructions": instructions if isinstance(instructions, str) else None,
            "access": agent.access,
            "owner": agent.owner,
            "autonomy": agent.autonomy,
            "maxTurns": agent.max_turns,
            "version": agent.version,
            "onConcurrentRun": agent.on_concurrent_run.value,
            "tools": [self._tool(each) for each in agent.tools.values()],
            "unfinished": dict(unfinished),
        }

    def _tool(self, tool: NamedTool) -> dict[str, JsonValue]:
        offer = bound_tool(tool, self._catalog)
        needs = offer.options.needs_approval
        rules = rules_of(needs)
        return {
            "name": offer.name,
            "description": offer.description,
            "kind": _kind_of(tool),
            "parameters": dict(offer.parameters.schema),
            "asks": _asks(needs),
            "approvers": list(rules.approvers),
            "editable": rules.editable,
        }


def _check_admin(caller: Identity) -> None:
    if not caller.is_admin:
        raise Forbidden("this is for admins")


def _cost_of(message: Message) -> float | None:
    if message.usage is None or message.model_name is None:
        return None
    return price_of(message.model_name, Usage.from_json(cast("dict[str, int]", message.usage)))


def _kind_of(tool: NamedTool) -> str:
    match tool:
        case FunctionTool():
            return "function"
        case AgentTool():
            return "agent"
        case _:
            return "inline"


def _asks(needs: object) -> str:
    if needs is False:
        return "never"
    if needs is True or (not callable(needs) and getattr(needs, "when", None) is None):
        return "always"
    return "sometimes"


def _run_row(row: Mapping[str, Any]) -> dict[str, JsonValue]:
    return _row(row, drop=("override",) if row["override"] is None else ())


def _step_row(row: Mapping[str, Any]) -> dict[str, JsonValue]:
    trace: Mapping[str, Any] = row["trace"] or {}
    took_ms = trace.get("ms")
    started = None if took_ms is None else row["finished_at"] - timedelta(milliseconds=took_ms)
    value: Json = row["value"]
    if value is None and row["size"] > LARGEST_VALUE:
        value = {"shortened": f"{row['size']} bytes"}
    return {
        "name": row["name"],
        "kind": row["name"].partition(":")[0],
        "turn": row["turn"],
        "startedAt": _time(started),
        "finishedAt": _time(row["finished_at"]),
        "durationMs": took_ms,
        "attempts": trace.get("attempts"),
        "worker": trace.get("worker"),
        "epoch": trace.get("epoch"),
        "value": value,
        "isError": isinstance(value, dict) and value.get("isError") is True,
    }


def _row(row: Mapping[str, Any], *, drop: Sequence[str] = ()) -> dict[str, JsonValue]:
    """Return columns as the wire spells them."""
    return {to_camel(name): _value(name, row[name]) for name in row if name not in drop}


def _value(name: str, value: Any) -> JsonValue:  # noqa: ANN401  # a column of any type
    if name == "usage":
        usage: Json = Usage.from_json(value).to_json()
        return usage
    if isinstance(value, datetime):
        return _time(value)
    found: JsonValue = list(value) if isinstance(value, tuple) else value
    return found


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None
