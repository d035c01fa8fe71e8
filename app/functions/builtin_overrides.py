"""``agents:adminOverrides`` and what changes them: drafts, publishing, resets, older versions.

Whose role allows ``project:deploy`` publishes; whose role allows either permission reads and drafts
(ACC-08).  The shapes are declared in ``app.protocol.admin``; a test holds both together.
"""

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from app.authoring.agent import Agent
from app.authoring.approval_policy import rules_of
from app.authoring.binding import bound_tool
from app.authoring.contexts import ActionContext, QueryContext
from app.authoring.function_tool import FunctionCatalog
from app.authoring.functions import FunctionKind, ServerFunction, action
from app.domain.errors import InvalidArgument, NotFound
from app.domain.identity import Identity
from app.domain.override import AuditEntry, Override, OverrideVersion
from app.domain.ports import OverrideStore
from app.domain.storable import storable_text
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES
from app.functions import overriding
from app.models.catalog import checked_model
from app.threads.governing import Permission, Permissions
from app.threads.limits import MAX_INPUT, MAX_TITLE, MAX_TURNS

SHOWN_VERSIONS = 100
SHOWN_AUDIT = 100

Slug = Annotated[str, Field(min_length=1)]
Note = Annotated[str, Field(min_length=1, max_length=MAX_TITLE)]


class OverrideContent(BaseModel):
    """What is to stand in place of the code's own word; what is left out is as coded."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    instructions: Annotated[str, Field(max_length=MAX_INPUT)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)] | None = None
    autonomy: Literal["as_coded", "always_ask"] | None = None
    max_turns: Annotated[int, Field(ge=1, le=MAX_TURNS)] | None = None
    tools_off: list[str] = Field(default_factory=list, max_length=1000)


class OverrideFunctions:
    """The functions, over the agents that were loaded."""

    def __init__(
        self,
        store: OverrideStore,
        agents: Mapping[str, Agent],
        catalog: FunctionCatalog,
        permissions: Permissions,
    ) -> None:
        self._store = store
        self._agents = agents
        self._catalog = catalog
        self._permissions = permissions

    def functions(self) -> Sequence[ServerFunction[..., Any]]:
        """Return the declarations."""
        return [
            ServerFunction(
                self.overrides,
                kind=FunctionKind.QUERY,
                name="admin_overrides",
                reads=(OVERRIDES, GOVERNANCE, AUDIT),
            ),
            action(name="admin_save_draft")(self.save_draft),
            action(name="admin_discard_draft")(self.discard_draft),
            action(name="admin_publish")(self.publish),
            action(name="admin_reset")(self.reset),
            action(name="admin_restore")(self.restore),
        ]

    async def overrides(self, ctx: QueryContext, *, agent: Slug) -> dict[str, JsonValue]:
        """Return what an agent's code says, what is said over it, and who said what when."""
        found = self._found(agent, ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        versions = await self._store.versions(agent, SHOWN_VERSIONS)
        draft = await self._store.draft(agent)
        governed = await self._store.governed([agent])
        newest = versions[0] if versions else None
        return {
            "agent": agent,
            "code": self._code(found),
            "version": None if newest is None else newest.version,
            "inForce": {} if newest is None else newest.content.to_json(),
            "draft": None if draft is None else _version(draft),
            "versions": [_version(each) for each in versions],
            "approvers": {tool: list(each) for tool, each in governed.of(agent).approvers.items()},
            "models": None if governed.models is None else list(governed.models),
            "audit": [audit_row(each) for each in await self._store.audit(agent, SHOWN_AUDIT)],
            "may": may_view(self._permissions, ctx.auth),
        }

    async def save_draft(
        self,
        ctx: ActionContext,
        *,
        agent: Slug,
        content: OverrideContent,
        over: OverrideContent | Literal["nothing"] | None = None,
    ) -> dict[str, JsonValue]:
        """Write the draft, of which there is one for each agent.  It has no effect.

        ``over``: if the draft still says this; ``nothing``: if there is none.
        """
        found = self._found(agent, ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        checked = self._checked(found, content)
        decide = overriding.save_draft(checked, found.model, _shown(over))
        await self._store.change(agent, ctx.auth.user_id, decide)
        return {"content": checked.to_json()}

    async def discard_draft(
        self, ctx: ActionContext, *, agent: Slug, content: OverrideContent | None = None
    ) -> None:
        """Throw the draft away; ``content``: if it still says this."""
        self._found(agent, ctx.auth, Permission.MANAGE, Permission.DEPLOY)
        decide = overriding.discard_draft(None if content is None else _said(content))
        await self._store.change(agent, ctx.auth.user_id, decide)

    async def publish(
        self,
        ctx: ActionContext,
        *,
        agent: Slug,
        note: Note | None = None,
        content: OverrideContent | None = None,
    ) -> dict[str, JsonValue]:
        """Put the draft in force, from the next prompt on; ``content``: if it still says this."""
        found = self._found(agent, ctx.auth, Permission.DEPLOY)
        shown = None if content is None else self._checked(found, content)
        draft = await self._store.draft(agent)
        if draft is not None:
            self._check_tools(found, draft.content.tools_off)
        decide = overriding.publish(_line(note), shown, found.model)
        return {"version": await self._store.change(agent, ctx.auth.user_id, decide)}

    async def reset(
        self, ctx: ActionContext, *, agent: Slug, note: Note | None = None
    ) -> dict[str, JsonValue]:
        """Let everything be as coded again, from the next prompt on."""
        self._found(agent, ctx.auth, Permission.DEPLOY)
        decide = overriding.reset(_line(note))
        return {"version": await self._store.change(agent, ctx.auth.user_id, decide)}

    async def restore(
        self,
        ctx: ActionContext,
        *,
        agent: Slug,
        version: Annotated[int, Field(ge=1, le=(1 << 31) - 1)],
        note: Note | None = None,
    ) -> dict[str, JsonValue]:
        """Put what an older version says in force again, as a new one."""
        found = self._found(agent, ctx.auth, Permission.DEPLOY)
        decide = overriding.restore(version, _line(note), found.model)
        by = ctx.auth.user_id
        return {"version": await self._store.change(agent, by, decide, restores=version)}

    def _found(self, agent: str, caller: Identity, *any_of: Permission) -> Agent:
        self._permissions.check(caller, *any_of)
        return agent_of(self._agents, agent)

    def _checked(self, agent: Agent, content: OverrideContent) -> Override:
        self._check_tools(agent, content.tools_off)
        said = content.instructions
        return Override(
            instructions=None if said is None else storable_text(said),
            model=None if content.model is None else checked_model(content.model),
            autonomy=content.autonomy,
            max_turns=content.max_turns,
            tools_off=tuple(sorted(set(content.tools_off))),
        )

    def _check_tools(self, agent: Agent, tools: Sequence[str]) -> None:
        for tool in tools:
            check_tool(agent, tool, "toolsOff")

    def _code(self, agent: Agent) -> dict[str, JsonValue]:
        said, model = agent.instructions, agent.model
        offers = [bound_tool(each, self._catalog) for each in agent.tools.values()]
        return {
            "instructions": said if isinstance(said, str) else None,
            "model": model if isinstance(model, str) else type(model).__name__,
            "autonomy": agent.autonomy,
            "maxTurns": agent.max_turns,
            "tools": [
                {
                    "name": each.name,
                    "description": each.description,
                    "approvers": list(rules_of(each.options.needs_approval).approvers),
                }
                for each in offers
            ],
        }


def agent_of(agents: Mapping[str, Agent], slug: str) -> Agent:
    """Return the agent with this slug.

    Raises:
        NotFound: there is none.
    """
    found = agents.get(slug)
    if found is None:
        raise NotFound(f"no agent {slug!r}")
    return found


def check_tool(agent: Agent, tool: str, argument: str) -> None:
    """Refuse a tool that the agent's code does not have.

    Raises:
        InvalidArgument: says which it has.
    """
    if tool not in agent.tools:
        known = ", ".join(agent.tools) or "none"
        raise InvalidArgument(f"{argument}: {agent.slug} has no tool {tool!r}; it has: {known}")


def may_view(permissions: Permissions, caller: Identity) -> JsonValue:
    """Return what a caller may do, for buttons."""
    return {
        "manage": permissions.may(caller, Permission.MANAGE),
        "deploy": permissions.may(caller, Permission.DEPLOY),
    }


def audit_row(entry: AuditEntry) -> JsonValue:
    """Return an entry of the audit as the wire spells it."""
    return {
        "id": entry.id,
        "at": entry.at.isoformat(timespec="milliseconds"),
        "actor": entry.actor,
        "agent": entry.agent or None,
        "action": entry.action,
        "detail": dict(entry.detail),
    }


def _shown(over: OverrideContent | str | None) -> Override | EllipsisType | None:
    match over:
        case None:
            return ...
        case OverrideContent():
            return _said(over)
        case _:
            return None


def _said(content: OverrideContent) -> Override:
    return Override.from_json(content.model_dump(by_alias=True, exclude_none=True))


def _version(version: OverrideVersion) -> JsonValue:
    return {
        "version": version.version or None,
        "content": version.content.to_json(),
        "author": version.author,
        "at": version.at.isoformat(timespec="milliseconds"),
        "note": version.note,
    }


def _line(note: str | None) -> str | None:
    return None if note is None else storable_text(note)
