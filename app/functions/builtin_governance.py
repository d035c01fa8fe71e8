"""``agents:adminGovernance`` and what changes it: who uses, who decides, which models, the audit.

Whose role allows ``project:manage`` (ACC-08) changes it; what is changed counts at once, also for
calls that wait already.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, JsonValue

from app.authoring.agent import Agent
from app.authoring.approval_policy import TOKENS
from app.authoring.contexts import ActionContext, QueryContext
from app.authoring.functions import FunctionKind, ServerFunction, action
from app.domain.errors import InvalidArgument
from app.domain.override import Governance
from app.domain.ports import OverrideStore
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES
from app.functions import overriding
from app.functions.builtin_overrides import (
    SHOWN_AUDIT,
    Slug,
    agent_of,
    audit_row,
    check_tool,
    may_view,
)
from app.models.catalog import checked_model
from app.threads.governing import Permission, Permissions
from app.threads.limits import PAGE_LIMIT_MAX

_DEPLOYMENT = ""
MAX_MINUTES = 60 * 24 * 365

Name = Annotated[str, Field(min_length=1, max_length=320)]
Names = Annotated[list[Name], Field(max_length=1000)]


class GovernanceFunctions:
    """The functions, over the agents that were loaded."""

    def __init__(
        self, store: OverrideStore, agents: Mapping[str, Agent], permissions: Permissions
    ) -> None:
        self._store = store
        self._agents = agents
        self._permissions = permissions

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            ServerFunction(
                self.governance,
                kind=FunctionKind.QUERY,
                name="admin_governance",
                reads=(GOVERNANCE, OVERRIDES),
            ),
            ServerFunction(self.audit, kind=FunctionKind.QUERY, name="admin_audit", reads=(AUDIT,)),
            action(name="admin_set_governance")(self.set_governance),
            action(name="admin_set_approvers")(self.set_approvers),
            action(name="admin_set_minutes")(self.set_minutes),
            action(name="admin_set_models")(self.set_models),
        ]

    async def governance(self, ctx: QueryContext) -> dict[str, JsonValue]:
        """Return every agent's lists, and which models may be chosen."""
        self._permissions.check(ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        governed = await self._store.governed()
        return {
            "agents": [
                {"agent": slug, "name": agent.name, **_governance(governed.of(slug))}
                for slug, agent in self._agents.items()
            ],
            "models": None if governed.models is None else list(governed.models),
            "may": may_view(self._permissions, ctx.auth),
        }

    async def audit(
        self,
        ctx: QueryContext,
        *,
        agent: Slug | None = None,
        limit: Annotated[int, Field(ge=1, le=PAGE_LIMIT_MAX)] = SHOWN_AUDIT,
    ) -> list[JsonValue]:
        """Return who did what, the newest first."""
        self._permissions.check(ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        return [audit_row(each) for each in await self._store.audit(agent, limit)]

    async def set_governance(
        self, ctx: ActionContext, *, agent: Slug, use: Names | None, approve: Names | None
    ) -> None:
        """Say who may use an agent, and who may decide for it; null: no list."""
        self._permissions.check(ctx.auth, Permission.MANAGE)
        agent_of(self._agents, agent)
        decide = overriding.set_lists(agent, _people(use, "use"), _people(approve, "approve"))
        await self._store.change(agent, ctx.auth.user_id, decide)

    async def set_approvers(
        self, ctx: ActionContext, *, agent: Slug, tool: Name, approvers: Names | None
    ) -> None:
        """Pick who decides a tool's calls, in place of the code's; null: the code's again."""
        self._permissions.check(ctx.auth, Permission.MANAGE)
        check_tool(agent_of(self._agents, agent), tool, "tool")
        picked = _people(approvers, "approvers", TOKENS)
        if picked == ():
            raise InvalidArgument(
                "approvers: name somebody; null goes back to those that the code names"
            )
        decide = overriding.set_approvers(agent, tool, picked)
        await self._store.change(agent, ctx.auth.user_id, decide)

    async def set_minutes(
        self,
        ctx: ActionContext,
        *,
        agent: Slug,
        minutes: Annotated[float, Field(gt=0, le=MAX_MINUTES, allow_inf_nan=False)] | None,
    ) -> None:
        """Say how long a person takes for what a completed run does; null: nobody knows."""
        self._permissions.check(ctx.auth, Permission.MANAGE)
        agent_of(self._agents, agent)
        decide = overriding.set_minutes(agent, minutes)
        await self._store.change(agent, ctx.auth.user_id, decide)

    async def set_models(self, ctx: ActionContext, *, models: Names | None) -> None:
        """Say which models may be chosen, by an override or with a prompt; null: any."""
        self._permissions.check(ctx.auth, Permission.MANAGE)
        checked = None if models is None else tuple(sorted({checked_model(it) for it in models}))
        decide = overriding.allow_models(checked)
        await self._store.change(_DEPLOYMENT, ctx.auth.user_id, decide)


def _people(
    names: Sequence[str] | None, argument: str, tokens: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Return a list as it is stored: each name once, in the order given."""
    if names is None:
        return None
    for name in names:
        if name != name.strip() or not name.isprintable():
            raise InvalidArgument(f"{argument}: {name!r} is no e-mail and no user id")
        if name.startswith("$") and name not in tokens:
            there_are = f": there are {' and '.join(tokens)}" if tokens else " here"
            raise InvalidArgument(f"{argument}: {name!r} stands for nobody{there_are}")
    return tuple(dict.fromkeys(names))


def _governance(governance: Governance) -> dict[str, JsonValue]:
    return {
        "use": None if governance.use is None else list(governance.use),
        "approve": None if governance.approve is None else list(governance.approve),
        "approvers": {tool: list(each) for tool, each in governance.approvers.items()},
        "manualMinutes": governance.manual_minutes,
    }
