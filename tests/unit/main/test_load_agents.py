"""A folder of declarations is loaded by import, and what is wrong in it is named."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.errors import DeclarationError
from app.main.load_agents import load
from app.main.refusal import Refusal

Write = Callable[..., Path]

AGENT = """
from app import Agent, function_tool

support = Agent(model="demo:", tools=[function_tool("orders:find_order")])
"""
FUNCTIONS = """
from app import QueryContext, query

@query
async def find_order(ctx: QueryContext, number: int) -> str:
    return str(number)
"""


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Write files of a folder that is called anything but ``agents``; return the folder."""
    before = {name: module for name, module in sys.modules.items() if name.startswith("agents")}

    def files(**contents: str) -> Path:
        for name, text in contents.items():
            file = tmp_path / "team" / f"{name.replace('__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / "team"

    yield files
    for name in [each for each in sys.modules if each.split(".")[0] == "agents"]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.req("AGT-01")
def test_everything_in_a_folder_is_loaded_whatever_the_folder_is_called(write: Write) -> None:
    folder = write(support=AGENT, orders=FUNCTIONS)

    declared = load(folder)

    assert list(declared.agents) == ["support"]
    assert [each.ref for each in declared.functions.all()] == ["orders:findOrder"]


def test_modules_may_import_one_another_and_lie_in_folders(write: Write) -> None:
    folder = write(
        billing__invoices=FUNCTIONS,
        desk="from agents.billing.invoices import find_order\nimport agents.billing",
    )

    declared = load(folder)

    assert [each.ref for each in declared.functions.all()] == ["billing.invoices:findOrder"]


def test_a_package_may_have_a_first_file_of_its_own(write: Write) -> None:
    folder = write(orders=FUNCTIONS)
    (folder / "__init__.py").write_text("FLAG = 1\n")

    load(folder)

    assert sys.modules["agents"].FLAG == 1


def test_loading_another_folder_forgets_the_first(write: Write) -> None:
    folder = write(one=FUNCTIONS)
    load(folder)
    (folder / "one.py").rename(folder / "two.py")

    declared = load(folder)

    assert [each.ref for each in declared.functions.all()] == ["two:findOrder"]
    assert "agents.one" not in sys.modules


def test_tests_beside_the_declarations_are_not_imported(write: Write) -> None:
    folder = write(orders=FUNCTIONS, test_orders="1 / 0", conftest="1 / 0")

    assert len(load(folder).functions.all()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("x = [\n", r"team/bad\.py:1: SyntaxError", id="syntax"),
        pytest.param("\n\n1 / 0\n", r"team/bad\.py:3: ZeroDivisionError", id="raises"),
        pytest.param("\nexit(3)\n", r"team/bad\.py:2: SystemExit: 3", id="exits"),
        pytest.param(
            "raise BaseException(3)", r"team/bad\.py:1: BaseException: 3", id="breaks-out"
        ),
        pytest.param("import missing_thing\n", r"bad\.py:1: ModuleNotFoundError", id="import"),
        pytest.param(
            'from app import Agent\nx = Agent(model="demo:", access="all")\n',
            r"team/bad\.py:2: access='all'",
            id="agent",
        ),
        pytest.param(
            "from app import query\n@query\nasync def f() -> None: ...\n",
            r"bad\.py:2: f: the first parameter of a @query is `ctx: QueryContext`",
            id="function",
        ),
        pytest.param(
            "from app import Agent, function_tool\n"
            'x = Agent(model="demo:", tools=[function_tool("no:such")])\n',
            r"bad\.py:2: function_tool: there is no server function 'no:such'",
            id="function-tool",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_and_line(
    write: Write, text: str, says: str
) -> None:
    with pytest.raises(DeclarationError, match=says):
        load(write(bad=text))


def test_a_module_called_agents_cannot_hold_functions(write: Write) -> None:
    with pytest.raises(DeclarationError, match="rename the file"):
        load(write(agents=FUNCTIONS))


def test_a_file_that_no_module_can_be_called_after_is_named(write: Write) -> None:
    folder = write(orders=FUNCTIONS)
    (folder / "order-desk.py").write_text("")

    with pytest.raises(DeclarationError, match=r"order-desk\.py: .*rename the file"):
        load(folder)


def test_functions_in_the_folders_first_file_have_no_module_to_be_called_by(write: Write) -> None:
    folder = write(orders="")
    (folder / "__init__.py").write_text(FUNCTIONS)

    with pytest.raises(DeclarationError, match="move this one into a module"):
        load(folder)


def test_a_missing_folder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="--agents PATH"):
        load(tmp_path / "nowhere")


def test_the_shipped_folder_is_in_order(write: Write) -> None:
    declared = load(Path(__file__).parents[3] / "agents")

    refs = {each.ref for each in declared.functions.all()}
    assert {"chat:startRun", "chat:cancelRun"} <= refs
    assert "support" in declared.agents
