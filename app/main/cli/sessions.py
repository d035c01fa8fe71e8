"""``ropewalk agents sessions``: see the conversations with an agent, go on with one, stop one."""

import json
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from app.main.cli.agents import TokenOption, UrlOption, UserOption, WaitOption, say, session_path
from app.main.cli.dev import DEFAULT_DATA_DIR, DataDirOption
from app.main.cli.server import Server

cli = typer.Typer(help="See the sessions of an agent, and act on one.", no_args_is_help=True)

AgentArgument = Annotated[str, typer.Argument(help="The agent.")]
SessionArgument = Annotated[str, typer.Argument(help="The session.")]
MessageOption = Annotated[str, typer.Option(help="What to say.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the server's answer.")]


@cli.command("list")
def list_sessions(
    agent: AgentArgument,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    before: Annotated[
        str | None, typer.Option(help="Go on where a page ended: its `next`.")
    ] = None,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    as_json: JsonOption = False,
) -> None:
    """Print id, status and title of each session, newest activity first."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    page = f"&before={quote(before)}" if before is not None else ""
    answer = server.get(f"{session_path(agent, '').rstrip('/')}?limit={limit}{page}")
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
        return
    for row in answer["sessions"]:
        typer.echo(f"{row['sessionId']}  {row['status']:14}  {row['title'] or ''}".rstrip())
    if answer["next"] is not None:
        typer.echo(f"(more with --before {answer['next']})", err=True)


@cli.command("show")
def show(
    agent: AgentArgument,
    session: SessionArgument,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    as_json: JsonOption = False,
) -> None:
    """Print how a session stands, and its newest messages."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    view = server.get(session_path(agent, session))
    if as_json:
        typer.echo(json.dumps(view, indent=2))
        return
    typer.echo(f"{view['sessionId']}  {view['status']}  {view['title'] or ''}".rstrip())
    for message in view["messages"]:
        typer.echo(_line(message))
    for asked in view["pendingApprovals"]:
        told = json.dumps(asked["input"], ensure_ascii=False)
        typer.echo(f"waits for a person: {asked['name']} {told} (approval {asked['id']})")
    if view["output"] is not None:
        typer.echo(f"output: {json.dumps(view['output'], ensure_ascii=False)}")
    if view["error"] is not None:
        typer.echo(f"error: {view['error']['message']}")


@cli.command("continue")
def go_on(
    agent: AgentArgument,
    session: SessionArgument,
    message: MessageOption,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    *,
    wait: WaitOption = False,
) -> None:
    """Say something in a session that there is.  Prints the run, or with --wait the reply."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    server.get(f"{session_path(agent, session)}?limit=1")  # one that there is not is not begun
    say(server, agent, {"message": message, "sessionId": session}, wait=wait)


@cli.command("signal")
def signal(
    agent: AgentArgument,
    session: SessionArgument,
    message: MessageOption,
    mode: Annotated[
        Literal["queue", "inject"],
        typer.Option(help="Read after the running prompt, or before its next model request."),
    ] = "queue",
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Put a message into a session, busy or not."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    body: dict[str, object] = {"message": message, "mode": mode}
    typer.echo(json.dumps(server.post(f"{session_path(agent, session)}/signals", body)))


@cli.command("cancel")
def cancel(
    agent: AgentArgument,
    session: SessionArgument,
    run: Annotated[str | None, typer.Option(help="This run, and no other.")] = None,
    url: UrlOption = None,
    user: UserOption = "dev-user",
    token: TokenOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """End what a session is doing; one that does nothing stays as it is."""
    server = Server(url=url, data_dir=data_dir, user=user, token=token)
    body: dict[str, object] = {} if run is None else {"runId": run}
    ended = server.post(f"{session_path(agent, session)}/cancel", body)["cancelled"]
    typer.echo("cancelled" if ended else "nothing to cancel")


def _line(message: dict[str, Any]) -> str:
    said = [message["text"]] if message["text"] else []
    for part in message["parts"]:
        if part["type"] == "tool_call":
            said.append(f"calls {part['name']} {json.dumps(part['input'], ensure_ascii=False)}")
        elif part["type"] == "tool_result":
            answered = json.dumps(part["output"], ensure_ascii=False) if "output" in part else "..."
            said.append(f"{part['name']}: {answered}")
    return f"{message['role']}: {'; '.join(said)}"
