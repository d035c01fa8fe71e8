"""``agents.SLUG``: an agent by its name, for code that must not import its module.

``from app import agents`` and then ``agents.support``, wherever an agent is asked for by
reference: crons and ``ctx.scheduler``.  A reference is only a name; whether there is such an
agent is seen when the folder has been loaded, or when it is used.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from app.authoring.producer import attribute_name


class HasSlug(Protocol):
    """An ``Agent``, ``agents.SLUG``, or a producer of ``ctx.agents``."""

    @property
    def slug(self) -> str:
        """The agent's."""
        ...


AgentReference: TypeAlias = HasSlug | str


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent by its slug, in which ``-`` and ``_`` are one."""

    slug: str


class AgentReferences:
    """Has an attribute for every agent."""

    def __getattr__(self, name: str) -> NamedAgent:
        """Return the agent of this name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return NamedAgent(name)


agents = AgentReferences()


def slug_of(reference: AgentReference, slugs: Iterable[str]) -> str | None:
    """Return the slug, out of these, that a reference means."""
    name = attribute_name(reference if isinstance(reference, str) else reference.slug)
    return next((slug for slug in slugs if attribute_name(slug) == name), None)
