"""A team's agents, as its front end sees them: what their tools take and give, state and output."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, computed_field

from app import Agent, QueryContext, ToolContext, agent_as_tool, function_tool, query, tool
from app.authoring.agent import AnyTool
from app.authoring.output_type import OutputSchema
from app.domain.storable import Json
from app.functions.registry import FunctionRegistry
from app.protocol.agent_types import agent_types
from app.protocol.api_types import render_api

pytestmark = pytest.mark.req("CLI-09")


class Node(BaseModel):
    """A tree."""

    label: str
    children: list["Node"] = []


class PlanOutput(BaseModel):
    """Called as the output of the agent is."""

    steps: list["PlanOutput"]


class Tree(RootModel[dict[str, "Tree"]]):
    """Nothing but itself."""


@dataclass
class Board:
    """What is being planned."""

    title: str
    cards: list[str] = field(default_factory=list)


@query
async def roots(ctx: QueryContext, deep: bool = False) -> list[Node]:  # noqa: FBT001, FBT002
    """List the trees."""
    return []


@tool
async def plant(ctx: ToolContext, tree: Node, count: int = 1) -> Node | None:
    """Plant a tree.

    It may take a while.

    Args:
        tree: which one.
        count: how often.
    """
    return None


@tool
def look() -> dict[str, int]:
    return {}


def rendered(*agents: Agent) -> str:
    registry = FunctionRegistry()
    registry.add("trees", [roots])
    return render_api(registry.all(), [agent_types(each, registry) for each in agents])


def an_agent(
    slug: str,
    *tools: AnyTool,
    initial_state: object = None,
    output: OutputSchema | None = None,
) -> Agent:
    return Agent(slug=slug, model="demo:", tools=tools, initial_state=initial_state, output=output)


WHOLE = """\
import { agent, defineApi, query } from "ropewalk";

/** What is being planned. */
export interface Board {
  readonly title: string;
  readonly cards?: readonly string[];
}

/** A tree. */
export interface Node {
  readonly label: string;
  readonly children?: readonly Node[];
}

export interface TreesRootsArgs {
  readonly deep?: boolean;
}

export interface PlantInput {
  /** which one. */
  readonly tree: Node;
  /** how often. */
  readonly count?: number;
}

export interface RootsInput {
  readonly deep?: boolean;
}

export interface GardenerTools {
  /** Plant a tree. */
  readonly plant: { readonly input: PlantInput; readonly output: Node | null };
  readonly look: { readonly input: Record<string, never>; \
readonly output: Readonly<Record<string, number>> };
  /** List the trees. */
  readonly roots: { readonly input: RootsInput; readonly output: readonly Node[] };
}

export const api = defineApi({
  trees: {
    /** List the trees. */
    roots: query<TreesRootsArgs, readonly Node[]>("trees:roots"),
  },
});

export type AgentName = "gardener";

/** The agents, by name. */
export const agents = {
  gardener: agent<"gardener", GardenerTools, Board>("gardener"),
} as const;
"""


def test_an_agent_is_its_slug_with_the_types_of_its_tools_and_its_state() -> None:
    tools: list[AnyTool] = [plant, look, function_tool("trees:roots")]

    text = rendered(an_agent("gardener", *tools, initial_state=Board("spring")))

    assert text.partition("\n\n")[2] == WHOLE


def test_a_tool_of_several_agents_is_said_once_and_another_of_its_name_apart() -> None:
    @tool(name="plant")
    async def seed(ctx: ToolContext, what: str) -> None: ...

    text = rendered(an_agent("first", plant), an_agent("second", plant), an_agent("third", seed))

    assert text.count("export interface PlantInput {") == 1
    assert "export interface PlantInput_ {\n  readonly what: string;\n}" in text
    assert text.count("readonly plant: { readonly input: PlantInput; ") == 2
    assert "readonly plant: { readonly input: PlantInput_; readonly output: null };" in text


def test_a_type_that_is_given_otherwise_than_it_is_taken_is_two() -> None:
    class Ware(BaseModel):
        cents: int

        @computed_field
        def dollars(self) -> float:
            return self.cents / 100

    @tool
    async def buy(ctx: ToolContext, first: Ware, others: list[Ware]) -> Ware:
        return first

    text = rendered(an_agent("shop", buy))

    assert "export interface Ware {\n  readonly cents: number;\n  readonly dollars: number;" in text
    assert "export interface Ware_ {\n  readonly cents: number;\n}" in text
    assert "readonly first: Ware_;\n  readonly others: readonly Ware_[];" in text
    assert "readonly buy: { readonly input: BuyInput; readonly output: Ware };" in text


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
    ],
)
def test_arguments_that_typescript_cannot_say_are_any_object(schema: dict[str, Any]) -> None:
    @tool(schema=schema)
    async def odd(**arguments: object): ...  # type: ignore[no-untyped-def]  # noqa: ANN202

    text = rendered(an_agent("odd", odd))

    assert (
        "readonly odd: { readonly input: Readonly<Record<string, unknown>>;"
        " readonly output: unknown };"
    ) in text


@pytest.mark.filterwarnings("ignore:Could not generate return schema")
def test_a_result_without_a_json_form_is_unknown() -> None:
    @tool
    async def odd(ctx: ToolContext) -> Callable[[], int]:
        return int

    assert "readonly output: unknown };" in rendered(an_agent("odd", odd))


def test_an_agent_that_is_asked_answers_in_words() -> None:
    child = an_agent("child")
    parent = an_agent("parent", agent_as_tool(child))
    parent.bind_agents({"child": child})

    text = rendered(parent, child)

    assert "readonly child: { readonly input: ChildInput; readonly output: string };" in text
    assert 'child: agent<"child">("child"),' in text


@pytest.mark.req("LOOP-12")
def test_an_agents_output_is_exported_and_is_what_asking_the_agent_gives() -> None:
    child = an_agent("fibre-expert", output=Node)
    parent = an_agent("parent", agent_as_tool(child))
    parent.bind_agents({"fibre-expert": child})

    text = rendered(parent, child)

    line = 'fibreExpert: agent<"fibre-expert", FibreExpertTools, unknown, FibreExpertOutput>('
    assert line in text
    assert text.count("export type FibreExpertOutput = Node;") == 1
    (gives,) = re.findall(r'readonly "fibre-expert": .*readonly output: (\w+) }', text)
    assert gives == "FibreExpertOutput"


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize(
    ("output", "said"),
    [
        (Board, "export interface PlanOutput {\n  readonly title: string;\n  readonly cards?: "),
        (Node | Board, "export type PlanOutput = Node | Board"),
        (list[bool], "export type PlanOutput = readonly boolean[];"),
        ({"type": "object", "properties": {"n": {"type": "number"}}}, "  readonly n?: number;\n"),
    ],
)
def test_an_output_is_as_the_model_is_asked_for_it(
    output: OutputSchema,
    said: str,
) -> None:
    text = rendered(an_agent("plan", initial_state=Board("spring"), output=output))

    assert said in text
    assert 'plan: agent<"plan", PlanTools, Board, PlanOutput>("plan"),' in text


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize(
    ("output", "input_"),
    [(Board, "PlanOutput"), (list[bool], "{ readonly response: PlanOutput }")],
)
def test_the_call_by_which_an_agent_answers_is_known_to_who_shows_it(
    output: OutputSchema,
    input_: str,
) -> None:
    text = rendered(an_agent("plan", plant, output=output))

    called = f"readonly submit_structured_output: {{ readonly input: {input_}; "
    assert f"{called}readonly output: string }};\n}}" in text
    assert "export interface PlanTools {\n  /** Plant a tree. */\n" in text


@pytest.mark.req("LOOP-12")
def test_an_output_that_typescript_cannot_say_is_unknown() -> None:
    child = an_agent("odd", output={"type": ["string", "null"]})
    parent = an_agent("parent", agent_as_tool(child))
    parent.bind_agents({"odd": child})

    text = rendered(parent, child)

    assert 'odd: agent<"odd">("odd"),' in text
    assert "readonly odd: { readonly input: OddInput; readonly output: unknown };" in text


@pytest.mark.req("LOOP-12")
def test_an_output_that_has_the_name_of_its_type_is_told_from_it() -> None:
    text = rendered(an_agent("plan", output=PlanOutput))

    assert "export interface PlanOutput {\n  readonly steps: readonly PlanOutput[];\n}" in text
    assert "export type PlanOutput_ = PlanOutput;" in text
    assert 'plan: agent<"plan", PlanTools, unknown, PlanOutput_>("plan"),' in text


@pytest.mark.req("LOOP-12")
@pytest.mark.parametrize("name", ["class", "string", "Record", "1", "a-b", ""])
def test_what_a_schema_defines_has_a_name_of_its_own_that_typescript_takes(name: str) -> None:
    refs: dict[str, Json] = {"x": {"$ref": f"#/$defs/{name}"}, "y": {"$ref": "#/$defs/a b"}}
    text = rendered(
        an_agent(
            "1st",
            output={
                "$defs": {"a b": {"type": "string"}, name: {"type": "integer"}},
                "type": "object",
                "properties": refs,
            },
        )
    )

    (word,) = re.findall(r"  readonly x\?: (.*);", text)
    assert text.count(f"export type {word} = number;") == 1
    assert re.fullmatch(r"[A-Za-z_]\w*", word)
    assert word not in {"class", "string", "Record"}
    assert "readonly y?: a_b;" in text
    assert 'agent<"1st", _1stTools, unknown, _1stOutput>("1st")' in text
    assert text.count("Output {") == 1


@pytest.mark.req("LOOP-12")
def test_a_dictionary_of_itself_is_one_that_typescript_can_resolve() -> None:
    text = rendered(an_agent("plan", output=Tree))

    assert "export type Tree = { readonly [key: string]: Tree };" in text


def test_a_state_of_plain_lists_and_dictionaries_has_no_type() -> None:
    assert 'agent<"plain">("plain")' in rendered(an_agent("plain", initial_state={"a": 1}))
