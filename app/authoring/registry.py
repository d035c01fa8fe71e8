"""Finds the agents of loaded modules: what a module binds to a name is registered."""

from collections.abc import Iterable
from types import ModuleType

from app.authoring.agent import Agent
from app.authoring.producer import attribute_name


def agents_in(modules: Iterable[ModuleType]) -> dict[str, Agent]:
    """Return the agents of these modules by slug, in order of slug.

    An agent without a slug takes the name under which the module that declares it
    holds it; an import elsewhere under another name changes nothing.

    Raises:
        DeclarationError: two agents share a slug, a name cannot be one, or an agent may ask
            another that there is not.
    """
    found = [
        (module.__name__, attribute, value)
        for module in modules
        for attribute, value in vars(module).items()
        if isinstance(value, Agent)
    ]
    at_home = [entry for entry in found if entry[2].place.module == entry[0]]
    agents: dict[int, Agent] = {}
    for _, attribute, agent in (*at_home, *found):
        if id(agent) not in agents:
            agent.bind(attribute)
            agents[id(agent)] = agent
    by_slug = _by_slug(agents.values())
    for agent in by_slug.values():
        agent.bind_agents(by_slug)
    return by_slug


def _by_slug(agents: Iterable[Agent]) -> dict[str, Agent]:
    holders: dict[str, Agent] = {}
    for agent in agents:
        other = holders.setdefault(attribute_name(agent.slug), agent)
        if other is not agent:
            raise agent.place.error(
                f"the slug {agent.slug!r} is taken by the agent at {other.place} "
                "(- and _ count as one): give one of them another, slug=..."
            )
    return {agent.slug: agent for agent in sorted(holders.values(), key=lambda agent: agent.slug)}
