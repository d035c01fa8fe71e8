"""What crons declare is checked when the folder is loaded; what is wrong is named with its line."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.cron import CatchUp, CronPlan, Overlap
from app.domain.errors import DeclarationError
from app.domain.ports import StartRun
from app.domain.scheduled import CallTarget
from app.main.load_agents import load

AGENTS = """
from app import Agent

support = Agent(model="demo:")
desk = Agent(slug="order-desk", model="demo:", version="v2")
"""
FUNCTIONS = """
from app import ActionContext, MutationContext, QueryContext, action, mutation, query

@mutation(internal=True)
async def tidy(ctx: MutationContext, days: int) -> None: ...

@action
async def report(ctx: ActionContext) -> None: ...

@query
async def count(ctx: QueryContext) -> int:
    return 1
"""
HEAD = "from app import agents, crons\nfrom agents.support import support\n"

Load = Callable[[str], dict[str, CronPlan]]


@pytest.fixture
def load_crons(tmp_path: Path) -> Iterator[Load]:
    """Load a folder with agents, functions and these declarations; return its crons by name."""
    before = {name: module for name, module in sys.modules.items() if name.startswith("agents")}

    def loaded(declarations: str) -> dict[str, CronPlan]:
        folder = tmp_path / "team"
        folder.mkdir(exist_ok=True)
        for name, text in {
            "support": AGENTS,
            "jobs": FUNCTIONS,
            "clock": HEAD + declarations,
        }.items():
            (folder / f"{name}.py").write_text(text)
        return {plan.name: plan for plan in load(folder).crons}

    yield loaded
    for name in [each for each in sys.modules if each.split(".")[0] == "agents"]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.req("SCH-01", "SCH-02", "SCH-05")
def test_an_agent_is_a_direct_target(load_crons: Load) -> None:
    plan = load_crons(
        'crons.daily("digest", {"hour_utc": 3, "minute_utc": 15}, agents.support,'
        ' {"input": "sum up", "thread_key": "digest", "owner": "ann"})'
    )["digest"]

    assert (plan.expression, plan.timezone) == ("15 3 * * *", "UTC")
    assert (plan.catch_up, plan.overlap) == (CatchUp.ONE, Overlap.QUEUE)
    assert isinstance(plan.target, StartRun)
    assert (plan.target.agent, plan.target.thread_key) == ("support", "digest")
    assert plan.target.owner == "ann"
    assert "sum up" in plan.target.parts


@pytest.mark.req("SCH-05")
@pytest.mark.parametrize("target", ["agents.order_desk", '"order-desk"'])
def test_an_agent_is_named_by_reference_or_slug(load_crons: Load, target: str) -> None:
    plan = load_crons(f'crons.hourly("h", {{"minute_utc": 5}}, {target}, {{"input": "go"}})')["h"]

    assert plan.expression == "5 * * * *"
    assert isinstance(plan.target, StartRun)
    assert (plan.target.agent, plan.target.terms.agent_version) == ("order-desk", "v2")
    assert plan.target.thread_key == "", "each firing has a thread of its own"


def test_functions_are_targets_and_internal_ones_too(load_crons: Load) -> None:
    plans = load_crons(
        "from agents.jobs import tidy\n"
        'crons.cron("tidy", "30 2 * * 1-5", tidy, {"days": 3}, timezone="Europe/Berlin",'
        ' catch_up="all", overlap="skip")\n'
        'crons.daily("report", at={"hour": 2, "minute": 30}, target="jobs:report",'
        ' timezone="Europe/Berlin")\n'
    )

    assert plans["tidy"].target == CallTarget("jobs:tidy", '{"days":3}')
    assert (plans["tidy"].catch_up, plans["tidy"].overlap) == (CatchUp.ALL, Overlap.SKIP)
    assert plans["report"].target == CallTarget("jobs:report", "{}")
    assert plans["report"].expression == "30 2 * * *"
    assert {plan.timezone for plan in plans.values()} == {"Europe/Berlin"}


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ('crons.cron("c", "61 * * * *", support, {"input": "x"})', "'61 .*' cannot be read"),
        ('crons.cron("c", "* * * * *", support, {"input": "x"}, timezone="Mars")', "'Mars'"),
        ('crons.cron("c", "* * * * *", agents.nobody, {"input": "x"})', "no agent 'nobody'; .*sup"),
        ('crons.cron("c", "* * * * *", "jobs:none")', "no function 'jobs:none'"),
        ('crons.cron("c", "* * * * *", "jobs:count")', "is a query"),
        ('crons.cron("c", "* * * * *", "jobs:tidy")', "days: is required"),
        ('crons.cron("c", "* * * * *", "jobs:tidy", {"days": "3"})', "days: .*valid integer"),
        ('crons.cron("c", "* * * * *", "jobs:tidy", {"days": 3, "x": 1})', "no such argument"),
        ('crons.cron("c", "* * * * *", support, {"input": "x", "threadKey": "k"})', "a run takes"),
        ('crons.cron("c", "* * * * *", support)', "needs an input"),
        ('crons.cron("c", "* * * * *", support, {"input": " "})', "say something"),
        ('crons.cron("c", "* * * * *", support, {"input": "x", "max_turns": 0})', "maxTurns"),
        ('crons.cron("c", "* * * * *", support, "x")', "arguments are a mapping"),
        ('crons.cron("c", "* * * * *", support, {"input": "x"}, catch_up="two")', "skip, one, all"),
        ('crons.cron("c", "* * * * *", support, {"input": "x"}, overlap="no")', "queue, skip"),
        ('crons.cron("", "* * * * *", support, {"input": "x"})', "1 to 100"),
        ('crons.daily("c", {"hour_utc": 24}, support, {"input": "x"})', "from 0 to 23, got 24"),
        ('crons.daily("c", {"minute_utc": 5}, support, {"input": "x"})', "at which hour"),
        ('crons.daily("c", {"our": 5}, support, {"input": "x"})', "is no time; it takes hour_utc"),
        ('crons.daily("c", {"hour": 5, "hour_utc": 5}, support, {"input": "x"})', "said twice"),
        (
            'crons.daily("c", {"hour_utc": 5}, support, {"input": "x"}, timezone="Asia/Tokyo")',
            "hour_utc is in UTC, and timezone='Asia/Tokyo' is not; say hour instead",
        ),
        ('crons.hourly("c", {"minute_utc": 60}, support, {"input": "x"})', "from 0 to 59"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(
    load_crons: Load, declaration: str, said: str
) -> None:
    with pytest.raises(DeclarationError, match=rf"clock\.py:3: .*{said}"):
        load_crons(declaration)


def test_two_crons_of_one_name_are_refused(load_crons: Load) -> None:
    one = 'crons.hourly("twice", {"minute_utc": 5}, support, {"input": "x"})\n'

    with pytest.raises(DeclarationError, match=r"clock\.py:4: cron 'twice': .* at .*clock\.py:3"):
        load_crons(one + one)


def test_a_folder_that_is_loaded_again_has_the_crons_that_it_has_now(load_crons: Load) -> None:
    load_crons('crons.hourly("old", {"minute_utc": 5}, support, {"input": "x"})\n')

    assert list(load_crons('crons.hourly("new", {}, support, {"input": "x"})\n')) == ["new"]
