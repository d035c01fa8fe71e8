"""``ropewalk generate``: a new file of the team's own, ready to be filled."""

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from app.main.refusal import Refusal

cli = typer.Typer(help="Write the first lines of something new.", no_args_is_help=True)

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_PACKAGE = '''"""The team's agents and functions.  Every module here is loaded at start."""
'''
_AGENT = '''"""{title}: say here what this agent is for."""

from app import Agent, ToolContext, tool


@tool
async def look_up(ctx: ToolContext, subject: str) -> str:
    """Look something up.  The model reads this sentence, and the ones below.

    Args:
        subject: what to look up.
    """
    return f"Nothing is known about {{subject}} yet."


{attribute} = Agent(
    slug="{slug}",
    name="{title}",
    description="Says what it is for in one sentence.",
    instructions="You are {title}. Answer briefly, and use your tools.",
    model="{model}",
    tools=[look_up],
)
'''


@cli.callback()
def _group() -> None:
    """Write the first lines of something new."""


@cli.command("agent")
def agent(
    name: Annotated[str, typer.Option(help="Its slug, such as support or order-desk.")],
    model: Annotated[str, typer.Option(help="Its model, as provider:model.")] = "default",
    agents: Annotated[Path, typer.Option(help="The folder of agents.", envvar="AGENTS")] = Path(
        "agents"
    ),
) -> None:
    """Add an agent to the folder of agents; it is served from the next start on."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise Refusal(
            f"{name!r} is no name for an agent: use small letters, digits and single hyphens,"
            " beginning with a letter"
        )
    attribute = name.replace("-", "_")
    file = agents / f"{attribute}.py"
    if file.exists():
        raise Refusal(f"{file} exists already; nothing was changed")
    try:
        agents.mkdir(parents=True, exist_ok=True)
        package = agents / "__init__.py"
        if not package.exists():
            package.write_text(_PACKAGE)
        title = name.replace("-", " ").replace("_", " ").capitalize()
        slug = name.replace("_", "-")
        file.write_text(_AGENT.format(title=title, attribute=attribute, slug=slug, model=model))
    except OSError as error:
        raise Refusal(f"cannot write {file} ({error.strerror})") from error
    typer.echo(f"Wrote {file}; the agent is {slug!r}.")
