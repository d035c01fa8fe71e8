"""``ropewalk agents``: list the agents of a running server and talk to them."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.server import Server
from app.main.refusal import Refusal

cli = typer.Typer(
    help="List the agents of a running server and talk to them.", no_args_is_help=True
)

UrlOption = Annotated[
    str | None,
    typer.Option("--url", help="The server (else that of `ropewalk dev`).", envvar="ROPEWALK_URL"),
]
UserOption = Annotated[str, typer.Option("--user", help="Whom to speak as.")]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", help="A token, instead of one for --user.", envvar="ROPEWALK_TOKEN"),
]
SchemaOption = Annotated[
    str | None, typer.Option("--output-schema", help="JSON Schema of the answer.")
]
SchemaFileOption = Annotated[
    Path | None, typer.Option("--output-schema-file", help="The same, in a file.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait for the reply and print it.")]
_POLL_S = 0.2
_FINAL = ("completed", "failed", "cancelled")


@cli.command("list")
def list_agents(
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the server's answer.")] = False,
) -> None:
    """Print slug, name and description of each agent."""
    answer = Server(url=url, data_dir=data_dir, user=user, token=token).get("/agents")
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
        return
    rows = answer["agents"] if isinstance(answer, dict) else answer
    for row in rows:
        typer.echo(f"{row['slug']:20} {row['name']:20} {row.get('description') or ''}".rstrip())


@cli.command("prompt")
def prompt(
    slug: Annotated[str, typer.Argument(help="The agent.")],
    message: Annotated[str, typer.Option(help="What to say.")],
    session: Annotated[str | None, typer.Option(help="Continue this session.")] = None,
    model: Annotated[str | None, typer.Option(help="Another model for this run.")] = None,
    output_schema: SchemaOption = None,
    output_schema_file: SchemaFileOption = None,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    wait: WaitOption = False,
) -> None:
    """Send a message to an agent.  Prints session and run, or with --wait the reply.

    With --wait, and a schema of the prompt's or the agent's, it prints the output alone, as JSON.
    """
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    schema = _schema(output_schema, output_schema_file)
    given = {"message": message, "sessionId": session, "model": model, "outputSchema": schema}
    say(server, slug, given, wait=wait)


def say(server: Server, slug: str, given: Mapping[str, object], *, wait: bool) -> None:
    """Send a prompt, and print what came of it.

    Args:
        server: the server.
        slug: the agent's.
        given: the body; what is ``None`` is left out.
        wait: for the reply, or the output if a form was asked for.

    Raises:
        Refusal: it was refused, or the run did not complete.
    """
    body = {name: value for name, value in given.items() if value is not None}
    started = server.post(f"/agents/{quote(slug, safe='')}", body)
    if not wait:
        typer.echo(json.dumps(started))
        return
    run = started["runId"]
    reply = _reply(server, slug, started["sessionId"], run)
    output = server.get(f"/runs/{run}")["output"]
    if "outputSchema" in body or output is not None:
        reply = json.dumps(output, ensure_ascii=False)
    typer.echo(reply)


def session_path(slug: str, session: str) -> str:
    """Return the address of a session, whatever a team makes of its keys."""
    return f"/agents/{quote(slug, safe='')}/sessions/{quote(session, safe='')}"


def _schema(text: str | None, file: Path | None) -> dict[str, Any] | None:
    """Return the form that was asked for.

    Raises:
        Refusal: it cannot be read.
    """
    if text is not None and file is not None:
        raise Refusal("give one of --output-schema and --output-schema-file")
    try:
        found = json.loads(file.read_text() if file is not None else text or "null")
    except (OSError, ValueError) as error:
        raise Refusal(f"the output schema is no JSON: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise Refusal('the output schema has to be a JSON Schema with "type": "object"')
    return found


def _reply(server: Server, slug: str, session: str, run: str) -> str:
    """Return the text of the run's last assistant message, once the run has ended.

    Raises:
        Refusal: it did not complete.
    """
    is_told = False
    while True:
        view = server.get(session_path(slug, session))
        if view["status"] in _FINAL:
            break
        if view.get("pendingApprovals") and not is_told:
            typer.echo("(waits for a person to approve a tool call)", err=True)
            is_told = True
        time.sleep(_POLL_S)
    if view["status"] != "completed":
        raise Refusal(f"the run {view['status']}{_because(view)}")
    texts = [
        each["text"]
        for each in view["messages"]
        if each["role"] == "assistant" and each["runId"] == run and each["text"]
    ]
    return texts[-1] if texts else ""


def _because(view: dict[str, Any]) -> str:
    error = view.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    return f": {error}" if error else ""
