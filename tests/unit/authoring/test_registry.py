"""What a module binds to a name is registered, once, under one slug."""

from types import ModuleType

import pytest

from app.authoring.registry import agents_in
from app.domain.errors import DeclarationError

SUPPORT = "from app import Agent\nsupport = Agent(model='demo:')\n"


def a_module(name: str, source: str, **names: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(names)
    exec(compile(source, f"{name}.py", "exec"), vars(module))  # noqa: S102  # a module of the test's own
    return module


@pytest.mark.req("AGT-01")
def test_every_agent_of_a_module_is_registered() -> None:
    module = a_module("agents.two", SUPPORT + "sales = Agent(model='demo:')\n")

    assert list(agents_in([module])) == ["sales", "support"]


def test_the_attribute_supplies_slug_and_name() -> None:
    module = a_module("agents.desk", "from app import Agent\nfront_desk = Agent(model='demo:')\n")

    (agent,) = agents_in([module]).values()

    assert (agent.slug, agent.name) == ("front_desk", "Front desk")


@pytest.mark.req("AGT-04")
def test_a_slug_of_its_own_stays_whatever_the_name() -> None:
    for name in ("Support", "Customer care"):
        source = (
            f"from app import Agent\na = Agent(slug='help-desk', name={name!r}, model='demo:')\n"
        )
        agents = agents_in([a_module("agents.a", source)])
        assert [(slug, agent.name) for slug, agent in agents.items()] == [("help-desk", name)]


@pytest.mark.req("AGT-04")
@pytest.mark.parametrize("other", ["help-desk", "help_desk"])
def test_one_slug_for_two_agents_is_refused_with_both_places(other: str) -> None:
    first = a_module(
        "agents.a", "from app import Agent\na = Agent(slug='help-desk', model='demo:')\n"
    )
    second = a_module(
        "agents.b", f"from app import Agent\nb = Agent(slug={other!r}, model='demo:')\n"
    )

    with pytest.raises(DeclarationError, match=r"b\.py:2: .* is taken by the agent at .*a\.py:2"):
        agents_in([first, second])


def test_an_imported_agent_keeps_the_name_that_its_own_module_gives_it() -> None:
    home = a_module("agents.support", SUPPORT)
    guest = a_module("agents.chat", "", helper=vars(home)["support"])

    assert list(agents_in([guest, home])) == ["support"]


def test_an_agent_from_a_factory_takes_the_name_that_first_holds_it() -> None:
    factory = a_module(
        "lib.factory", "from app import Agent\ndef make(): return Agent(model='demo:')\n"
    )
    user = a_module("agents.x", "mine = make()\n", make=vars(factory)["make"])

    assert list(agents_in([user])) == ["mine"]
