"""``Agent``: who answers.  A declaration, checked when it is written, without I/O."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, Union, get_args

from pydantic_core import to_jsonable_python

from app.authoring.agent_tool import AgentTool
from app.authoring.function_tool import FunctionTool
from app.authoring.functions import ServerFunction
from app.authoring.output_type import AgentOutput, OutputSchema
from app.authoring.place import Place, calling_place
from app.authoring.producer import RESERVED_SLUGS, OnConcurrentRun
from app.authoring.tool_context import InstructionsContext
from app.authoring.tools import Tool, ToolOptions, as_duration, check_tool_name
from app.domain.ports import OnBusy
from app.domain.storable import Json, decode, encode
from app.models.resolve import ModelSource, names_a_model
from app.threads.access import Access
from app.threads.output_schema import TOOL

Instructions: TypeAlias = (
    str | Callable[[], str | Awaitable[str]] | Callable[[InstructionsContext], str | Awaitable[str]]
)
Autonomy: TypeAlias = Literal["as_coded", "always_ask"]
NamedTool: TypeAlias = Tool | FunctionTool | AgentTool
AnyTool: TypeAlias = Union[NamedTool, "Agent"]

DEFAULT_TURNS: Final = 100
TOOL_RETRIES: Final = 2

RESERVED_TOOL_NAMES: Final = frozenset(
    {"bash", "read", "write", "edit", "web_search", "web_fetch"}
    | {"set_trigger", "list_triggers", "list_workflows"}
    | {"searchMemory", "readMemory", "updateWorkingMemory", TOOL}
)
RESERVED_TOOL_PREFIX: Final = "handoff_to_"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VERSION = re.compile(r"[A-Za-z0-9._+-]{1,64}")


class Agent:
    """An agent under ``agents/``; to bind it to a name in a module is to register it.

    Attributes:
        slug: the permanent identity, in addresses, calls and history; by default the
            attribute's name.
        name: for people; by default made from the slug.
        access: who may start a run through the built-in call and route: a verified user
            (``authenticated``), anybody (``public``), server code alone (``internal``).
        max_turns: model requests per run at most.
        tool_retries: how often a failing tool is tried again, unless it says otherwise.
        on_concurrent_run: what a start does on a thread that has an unfinished run.
        version: pins runs to workers that have this version of the agent.
        timeout: a run fails as ``TIMED_OUT`` this long after it could begin.
        initial_state: the synced state that a new thread begins with; ``None`` for none.
        state_type: what it was declared as, which its JSON does not say.
        output: the form of its answers; ``None``: they are text.
        owner: who is responsible for it, an e-mail or user id.
        autonomy: whether only marked calls wait for a person, or all.
    """

    def __init__(
        self,
        *,
        model: ModelSource,
        slug: str | None = None,
        name: str | None = None,
        description: str = "",
        instructions: Instructions | None = None,
        system_prompt: Instructions | None = None,
        max_turns: int | None = None,
        max_steps: int | None = None,
        tools: Iterable[AnyTool] | Mapping[str, AnyTool] = (),
        access: Access = "authenticated",
        tool_retries: int = TOOL_RETRIES,
        on_concurrent_run: OnConcurrentRun = "reject",
        version: str | None = None,
        timeout: float | timedelta | None = None,
        initial_state: object = None,
        output: OutputSchema | None = None,
        owner: str | None = None,
        autonomy: Autonomy = "as_coded",
    ) -> None:
        """Declare an agent.

        Args:
            model: ``"provider:model"`` or ``"vendor/model-id"``, a pydantic-ai model, or a
                callable that gets the settings and returns one of those.  ``"default"`` is
                what ROPEWALK_MODEL says, or the provider whose key is set.
            slug: see the class.
            name: see the class.
            description: one sentence for people who choose an agent.
            instructions: the system prompt, or a callable asked once a run for it.
            system_prompt: another spelling of ``instructions``.
            max_turns: model requests per run at most, 100 by default.
            max_steps: another spelling of ``max_turns``.
            tools: a list, or a mapping from the name that the model sees.  An agent among
                them may be asked by its slug, and is waited for.
            access: see the class.
            tool_retries: see the class.
            on_concurrent_run: ``"reject"`` refuses the start, ``"replace"`` cancels the run in
                flight, ``"queue"`` lets the new one wait its turn, ``"steer"`` hands the
                message to the run in flight, which reads it before its next model request.
            version: see the class; without one, any worker takes any run.
            timeout: a duration or seconds; waiting counts.  By default there is no limit.
            initial_state: anything with a JSON form.
            output: the form of every answer, for which no start names another: a type (a pydantic
                model, a dataclass, ``list[Order]``) or a JSON Schema.  A run keeps the form that
                was declared when it was asked for.
            owner: e-mail or user id of who is responsible: may decide calls for which no
                approvers are named.
            autonomy: ``"always_ask"`` lets every call wait for a person, ``"as_coded"`` those
                whose tool says ``needs_approval``.

        Raises:
            DeclarationError: something contradicts something; the message names the fix.
        """
        self.place = calling_place()
        self.model = _checked_model(model, self.place)
        self.instructions = (
            _one_of(self.place, instructions=instructions, system_prompt=system_prompt) or ""
        )
        turns = _one_of(self.place, max_turns=max_turns, max_steps=max_steps)
        self.max_turns = _at_least(
            1, DEFAULT_TURNS if turns is None else turns, "max_turns", self.place
        )
        self.tool_retries = _at_least(0, tool_retries, "tool_retries", self.place)
        self.description = description
        self._offered = _offered(tools, self.place)
        self._tools: Mapping[str, NamedTool] | None = None
        if all(not isinstance(each, AgentTool) or each.has_name for each in self._offered):
            self._tools = _by_name(self._offered, self.place)
        if access not in get_args(Access):
            raise self.place.error(f"access={access!r}: it is one of {', '.join(get_args(Access))}")
        self.access: Access = access
        self.on_concurrent_run = _checked_policy(on_concurrent_run, self.place)
        self.version = _checked_version(version, self.place)
        self.timeout = _checked_timeout(timeout, self.place)
        self.initial_state = _checked_state(initial_state, self.place)
        self.state_type = type(initial_state)
        self.output = None if output is None else AgentOutput.declared(output, self.place)
        self.owner = owner
        if autonomy not in get_args(Autonomy):
            raise self.place.error(
                f"autonomy={autonomy!r}: it is one of {', '.join(get_args(Autonomy))}"
            )
        self.autonomy: Autonomy = autonomy
        self._slug = None if slug is None else _checked_slug(slug, self.place)
        self._name = name

    @property
    def slug(self) -> str:
        """The permanent identity.

        Raises:
            DeclarationError: it has none yet, because no module binds it to a name.
        """
        if self._slug is None:
            raise self.place.error(
                "this agent has no slug: bind it to a name in a module under agents/"
            )
        return self._slug

    @property
    def has_slug(self) -> bool:
        """Whether the slug is known: one that is not given comes from the module."""
        return self._slug is not None

    @property
    def tools(self) -> Mapping[str, NamedTool]:
        """What the model may call, by name.

        Raises:
            DeclarationError: an agent among them has no slug yet, or takes another's name.
        """
        if self._tools is None:
            self._tools = _by_name(self._offered, self.place)
        return self._tools

    @property
    def name(self) -> str:
        """What people read."""
        return self._name or self.slug.replace("_", " ").replace("-", " ").capitalize()

    def bind(self, attribute: str) -> None:
        """Take the slug from the name that a module gives to this agent, if it has none."""
        if self._slug is None:
            self._slug = _checked_slug(attribute, self.place)

    def bind_agents(self, agents: Mapping[str, "Agent"]) -> None:
        """Find the agents that this one may ask, now that all are known.

        Raises:
            DeclarationError: one of them is not there.
        """
        for each in self.tools.values():
            if isinstance(each, AgentTool):
                each.resolve(agents)

    def __repr__(self) -> str:
        return f"<Agent {self._slug or '?'} at {self.place}>"


def _one_of(place: Place, **spellings: Any) -> Any:  # noqa: ANN401  # two spellings of one option
    given = [name for name, value in spellings.items() if value is not None]
    if len(given) > 1:
        raise place.error(f"{' and '.join(given)} are two spellings of one option: give one")
    return spellings[given[0]] if given else None


def _at_least(least: int, value: object, option: str, place: Place) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise place.error(f"{option} has to be a whole number from {least}, got {value!r}")
    return value


def _checked_slug(slug: str, place: Place) -> str:
    if slug in RESERVED_SLUGS:
        raise place.error(
            f"the slug {slug!r} is taken by ctx.agents.{slug}(): give another, slug=..."
        )
    if not _SLUG.fullmatch(slug):
        raise place.error(
            f"{slug!r} cannot be a slug: use up to 64 small letters, digits, - and _, "
            f"beginning with a letter or digit, as slug={_suggested(slug)!r}"
        )
    return slug


def _suggested(slug: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", slug.lower()).strip("-_")[:64] or "assistant"


def _checked_model(model: ModelSource, place: Place) -> ModelSource:
    if isinstance(model, str) and not names_a_model(model):
        raise place.error(
            f"model={model!r} names no provider: write provider:model or vendor/model, "
            "as 'openai:gpt-5-mini'"
        )
    return model


def _checked_policy(policy: str, place: Place) -> OnBusy:
    try:
        return OnBusy(policy)
    except ValueError:
        known = ", ".join(get_args(OnConcurrentRun))
        raise place.error(f"on_concurrent_run={policy!r}: it is one of {known}") from None


def _checked_version(version: str | None, place: Place) -> str | None:
    if version is not None and not _VERSION.fullmatch(version):
        raise place.error(
            f"version={version!r}: use up to 64 letters, digits, '.', '-', '_' and '+'"
        )
    return version


def _checked_timeout(timeout: float | timedelta | None, place: Place) -> timedelta | None:
    duration = as_duration(timeout)
    if duration is not None and duration <= timedelta(0):
        raise place.error("timeout has to be longer than nothing")
    return duration


def _checked_state(state: object, place: Place) -> Json:
    try:
        return decode(encode(to_jsonable_python(state)))
    except (ValueError, TypeError) as error:
        raise place.error(f"initial_state has no JSON form: {error}") from error


def _offered(tools: Iterable[AnyTool] | Mapping[str, AnyTool], place: Place) -> Sequence[NamedTool]:
    pairs = tools.items() if isinstance(tools, Mapping) else ((None, each) for each in tools)
    offered: list[NamedTool] = []
    for given, each in pairs:
        if isinstance(each, ServerFunction):
            raise place.error(f"offer the function {each.name!r} as function_tool({each.name})")
        tool = _waited_for(each, place) if isinstance(each, Agent) else each
        if not isinstance(tool, Tool | FunctionTool | AgentTool):
            raise place.error(f"{each!r} is no tool: decorate the function with @tool")
        offered.append(tool if given is None else tool.renamed(given))
    return offered


def _waited_for(agent: Agent, place: Place) -> AgentTool:
    """Return an agent in ``tools`` as a tool: it is waited for without limit (R17)."""
    return AgentTool(
        target=agent,
        given_name=None,
        description=None,
        options=ToolOptions(),
        give_up_after=None,
        place=place,
    )


def _by_name(tools: Sequence[NamedTool], place: Place) -> Mapping[str, NamedTool]:
    named: dict[str, NamedTool] = {}
    for each in tools:
        name = check_tool_name(each.name, place)
        if name in RESERVED_TOOL_NAMES or name.startswith(RESERVED_TOOL_PREFIX):
            raise place.error(
                f"the tool name {name!r} is kept for a built-in: give another with name=..."
            )
        if name in named:
            raise place.error(f"two tools are called {name!r}: rename one with name=...")
        named[name] = each
    return MappingProxyType(named)


def takes_context(instructions: Callable[..., object]) -> bool:
    """Whether a callable for ``instructions`` asks for an ``InstructionsContext``."""
    return bool(inspect.signature(instructions).parameters)
