"""``ropewalk approvals``: what waits for a person, and deciding it from a terminal."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from app.main.cli.agents import TokenOption, UrlOption, UserOption
from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.server import Server
from app.main.refusal import Refusal

cli = typer.Typer(help="See what waits for a person, and decide it.", no_args_is_help=True)

IdArgument = Annotated[str, typer.Argument(help="The approval's id.")]
ReasonOption = Annotated[str | None, typer.Option(help="What the agent is told.")]


@cli.command("list")
def list_approvals(
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Also what was decided.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the server's answer.")] = False,
) -> None:
    """Print what waits, oldest first: id, status, agent, tool and arguments."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    rows = server.get(f"/approvals{'?status=all' if everything else ''}")["approvals"]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        told = json.dumps(row["input"], ensure_ascii=False)
        typer.echo(f"{row['id']}  {row['status']:9}  {row['agent']}/{row['name']} {told}{_by(row)}")


@cli.command("approve")
def approve(
    approval: IdArgument,
    reason: ReasonOption = None,
    edit: Annotated[
        str | None, typer.Option(help="Other arguments, as JSON, if the tool allows it.")
    ] = None,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Let a call run, exactly as it was listed or with other arguments."""
    given: dict[str, object] = {"decision": "approved"}
    if edit is not None:
        given["editedInput"] = _parsed(edit)
    _decide(Server(url=url, data_dir=data_dir, user=user, token=token), approval, given, reason)


@cli.command("deny")
def deny(
    approval: IdArgument,
    reason: ReasonOption = None,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Refuse a call; the agent is told, with the reason."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    _decide(server, approval, {"decision": "denied"}, reason)


def _decide(server: Server, approval: str, given: dict[str, object], reason: str | None) -> None:
    rows = server.get("/approvals?status=all&limit=1000")["approvals"]
    row = next((each for each in rows if each["id"] == approval), None)
    if row is None:
        raise Refusal(f"there is no approval {approval!r} that you may see; see `approvals list`")
    body = {**given, "inputHash": row["inputHash"], "via": "cli"}
    if reason is not None:
        body["reason"] = reason
    session = quote(row["key"], safe="")  # whatever a team makes of its keys
    path = f"/agents/{row['agent']}/sessions/{session}/approvals/{approval}"
    (decided,) = server.post(path, body)["decisions"]
    typer.echo(f"{decided['decision']}: {row['agent']}/{row['name']}")


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Refusal(f"--edit is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refusal("--edit has to be a JSON object: the arguments of the tool")
    return found


def _by(row: dict[str, Any]) -> str:
    who = row.get("decidedBy")
    return f"  by {who or row['place']}" if row.get("place") else ""
