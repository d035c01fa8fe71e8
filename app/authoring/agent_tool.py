"""``agent_as_tool``: another agent that the model may ask.

The call starts a run of that agent on a private thread and waits for its end, without
holding a worker (``app.loop.delegation``).  Thread and run follow from the calling step, so
a call that is tried again finds the same child.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from app.authoring.approval_policy import NeedsApproval
from app.authoring.place import Place, calling_place
from app.authoring.tool_schema import parameters_from_schema
from app.authoring.tools import Offer, ToolOptions, check_tool_name

if TYPE_CHECKING:
    from app.authoring.agent import Agent

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "description": "What to ask or tell the agent. It knows nothing else of this talk.",
        }
    },
    "required": ["message"],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildTool(Offer):
    """A call that a run of another agent answers.

    Attributes:
        agent: who answers.
        give_up_after: how long the asking run waits; ``None``: as long as it takes.
    """

    agent: "Agent"
    give_up_after: timedelta | None


@dataclass(kw_only=True, eq=False)
class AgentTool:
    """An agent as a tool of another; ``bound`` makes one of it once all agents are known.

    Attributes:
        target: the agent, or its slug until ``resolve``.
        given_name: what the model calls it; without one, the slug.
    """

    target: "Agent | str"
    given_name: str | None
    description: str | None
    options: ToolOptions
    give_up_after: timedelta | None
    place: Place

    @property
    def slug(self) -> str:
        """The slug of the agent.

        Raises:
            DeclarationError: it has none yet, because no module binds it to a name.
        """
        return self.target if isinstance(self.target, str) else self.target.slug

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.given_name or self.slug

    @property
    def has_name(self) -> bool:
        """Whether the name is known already: an agent may get its slug from its module."""
        return self.given_name is not None or isinstance(self.target, str) or self.target.has_slug

    def renamed(self, name: str) -> "AgentTool":
        """Return the same tool under another name."""
        return dataclasses.replace(self, given_name=check_tool_name(name, self.place))

    def resolve(self, agents: Mapping[str, "Agent"]) -> None:
        """Find the agent.

        Raises:
            DeclarationError: there is no such agent, or no worker would know it.
        """
        found = agents.get(self.slug)
        if found is None or self.target not in {self.slug, found}:
            raise self.place.error(
                f"there is no agent {self.slug!r} to ask: bind it to a name in a module under "
                f"agents/, or use one of {', '.join(agents)}"
            )
        self.target = found

    def bound(self) -> ChildTool:
        """Return the tool.

        Raises:
            DeclarationError: the agent was never found.
        """
        if isinstance(self.target, str):
            raise self.place.error(f"there is no agent {self.target!r} to ask")
        shown = parameters_from_schema(SCHEMA)
        told = self.description or self.target.description or f"Ask {self.target.name}."
        return ChildTool(
            name=self.name,
            parameters=dataclasses.replace(shown, description=told),
            options=self.options,
            place=self.place,
            agent=self.target,
            give_up_after=self.give_up_after,
        )


def agent_as_tool(
    agent: "Agent | str",
    *,
    name: str | None = None,
    description: str | None = None,
    max_polls: int = 120,
    poll_interval_ms: int = 500,
    needs_approval: NeedsApproval = False,
) -> AgentTool:
    """Offer an agent to the model as a tool with one argument, ``message``.

    The run that asks is parked meanwhile and goes on with the agent's last answer.  It gives
    up after ``max_polls`` times ``poll_interval_ms``, 60 s by default: the model then reads an
    error that names the child's run, and the child goes on.  An agent that stands in ``tools``
    by itself is waited for without limit.

    Args:
        agent: the agent, or the slug of one that is declared elsewhere.
        name: what the model calls it; by default the slug.
        description: what the model is told instead of the agent's own description.
        max_polls: see above.
        poll_interval_ms: see above; nothing is polled, the two make up the limit.
        needs_approval: ``True``, or a predicate over the call: a person is asked first.

    Raises:
        DeclarationError: an option is wrong; the message says where.
    """
    place = calling_place()
    options = ToolOptions(needs_approval=needs_approval)
    options.check(place)
    for option, value in (("max_polls", max_polls), ("poll_interval_ms", poll_interval_ms)):
        if value < 1:
            raise place.error(f"{option} has to be a whole number from 1, got {value!r}")
    return AgentTool(
        target=agent,
        given_name=None if name is None else check_tool_name(name, place),
        description=description,
        options=options,
        give_up_after=timedelta(milliseconds=max_polls * poll_interval_ms),
        place=place,
    )
