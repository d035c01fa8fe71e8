"""Write the SDK's and the admin UI's types: ``python -m app.protocol.export [--check]``.

One definition, two languages.  With ``--check`` nothing is written and a stale file
ends in exit status 1, which is how CI keeps both sides equal.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from app.protocol import admin, calls, client, errors, rows, server, wire
from app.protocol.typescript import interface, union
from app.threads import limits

Models: TypeAlias = Sequence[type[BaseModel]]

_SDK: Final = Path(__file__).parents[2] / "frontend-sdk"
TARGET: Final = _SDK / "src" / "core" / "protocol.gen.ts"
ADMIN_TARGET: Final = _SDK / "apps" / "admin" / "src" / "admin.gen.ts"

_HEADER = """\
// Generated from {source} by `python -m {module}`. Do not edit.

"""
_MODULE: Final = "app.protocol.export"

_SENT_BY_CLIENT: Final[tuple[type[BaseModel], ...]] = (
    client.Hello,
    client.Auth,
    client.Subscribe,
    client.Unsubscribe,
    client.Call,
    client.Ping,
    calls.AgentMessagesArgs,
    calls.AgentThreadArgs,
    calls.AgentStateArgs,
    calls.AgentRunArgs,
    calls.AgentCancelArgs,
    calls.AgentRetryArgs,
    calls.AgentApprovalsArgs,
    calls.AgentResolveApprovalArgs,
    calls.AgentResolveApprovalsArgs,
    calls.AgentRegenerateArgs,
    calls.AgentEditMessageArgs,
    calls.AgentSelectBranchArgs,
    calls.AgentForkArgs,
)
_SENT_BY_SERVER: Final[tuple[type[BaseModel], ...]] = (
    server.Welcome,
    server.Snapshot,
    server.Delta,
    server.Token,
    server.Result,
    server.ErrorFrame,
    server.Pong,
    server.Goodbye,
    rows.Message,
    rows.ThreadView,
    calls.AgentRunResult,
    calls.AgentCancelResult,
    calls.AgentRetryResult,
    calls.AgentResolveApprovalResult,
    calls.ResolvedApproval,
    rows.ApprovalRecord,
    calls.AgentBranchResult,
    calls.AgentForkResult,
)
_SHOWN_TO_ADMINS: Final[tuple[type[BaseModel], ...]] = (
    admin.RunPage,
    admin.RunDetail,
    admin.ThreadPage,
    admin.AgentDetail,
    admin.SystemView,
    admin.OverrideView,
    admin.GovernanceView,
    admin.SpendView,
)
_WORDS: Final[Mapping[str, object]] = {
    "ErrorCode": errors.ErrorCode,
    "TokenKind": server.TokenKind,
    "MessageRole": rows.MessageRole,
    "MessageStatus": rows.MessageStatus,
    "ThreadStatus": rows.ThreadStatus,
    "RunStatus": rows.RunStatus,
    "WaitingKind": rows.WaitingKind,
    "ApprovalDecision": rows.ApprovalDecision,
    "ApprovalStatus": rows.ApprovalStatus,
    "DecisionPlace": rows.DecisionPlace,
    "Surface": calls.Surface,
}
_UNIONS: Final[Mapping[str, object]] = {
    "Part": rows.Part,
    "RowOp": server.RowOp,
    "ClientFrame": client.ClientFrame,
    "ServerFrame": server.ServerFrame,
}
_CONSTANTS: Final[dict[str, str | int]] = {
    "PROTOCOL_VERSION": client.PROTOCOL_VERSION,
    "SUBPROTOCOL": client.SUBPROTOCOL,
    "PAGE_LIMIT": limits.PAGE_LIMIT,
    "AGENT_MESSAGES": calls.AGENT_MESSAGES,
    "AGENT_THREAD": calls.AGENT_THREAD,
    "AGENT_STATE": calls.AGENT_STATE,
    "AGENT_RUN": calls.AGENT_RUN,
    "AGENT_CANCEL": calls.AGENT_CANCEL,
    "AGENT_RETRY": calls.AGENT_RETRY,
    "AGENT_APPROVALS": calls.AGENT_APPROVALS,
    "AGENT_RESOLVE_APPROVAL": calls.AGENT_RESOLVE_APPROVAL,
    "AGENT_RESOLVE_APPROVALS": calls.AGENT_RESOLVE_APPROVALS,
    "AGENT_REGENERATE": calls.AGENT_REGENERATE,
    "AGENT_EDIT_MESSAGE": calls.AGENT_EDIT_MESSAGE,
    "AGENT_SELECT_BRANCH": calls.AGENT_SELECT_BRANCH,
    "AGENT_FORK": calls.AGENT_FORK,
    "CLOSE_PROTOCOL": errors.CLOSE_PROTOCOL,
    "CLOSE_UNAUTHENTICATED": errors.CLOSE_UNAUTHENTICATED,
    "MAX_FRAME": wire.MAX_FRAME,
    "MAX_CALLS": wire.MAX_CALLS,
}


def render() -> str:
    """Return the whole of ``protocol.gen.ts``."""
    named = _named()
    constants = "".join(
        f"export const {name} = {json.dumps(value)};\n" for name, value in _CONSTANTS.items()
    )
    blocks = [
        constants,
        *(union(name, [json.dumps(word) for word in get_args(_WORDS[name])]) for name in _WORDS),
        *(interface(name, body, named) for name, body in _protocol().items()),
        *(union(name, _members(tagged)) for name, tagged in _UNIONS.items()),
    ]
    return _header(_MODULE) + "\n".join(blocks)


def render_admin() -> str:
    """Return the whole of ``admin.gen.ts``."""
    return render_beside(_MODULE, "ropewalk", sent=_SHOWN_TO_ADMINS)


def render_beside(module: str, source: str, *, sent: Models, taken: Models = ()) -> str:
    """Return a file with the types of what the server sends and takes elsewhere.

    Args:
        module: which is run to write the file.
        source: has the types of what travels over the socket, which are imported from it.
        sent: by the server.
        taken: by the server.
    """
    modes: Mapping[JsonSchemaMode, Models] = {"validation": taken, "serialization": sent}
    _, schema = models_json_schema(
        [(model, mode) for mode, models in modes.items() for model in models]
    )
    named, known = _named(), _protocol()
    own = [
        interface(name, body, named) for name, body in schema["$defs"].items() if name not in known
    ]
    text = "\n".join(own)
    borrowed = sorted(
        name for name in {*known, *_WORDS, *_UNIONS} if re.search(rf"\b{name}\b", text)
    )
    imports = f"import type {{ {', '.join(borrowed)} }} from {json.dumps(source)};\n\n"
    return f"{_header(module)}{imports}{text}"


def _header(module: str) -> str:
    return _HEADER.format(source=module.rpartition(".")[0].replace(".", "/"), module=module)


def _protocol() -> Mapping[str, Mapping[str, Any]]:
    """Return the schemas of what travels over the socket, by name."""
    _, schema = models_json_schema(
        [
            *((model, "validation") for model in _SENT_BY_CLIENT),
            *((model, "serialization") for model in _SENT_BY_SERVER),
        ]
    )
    found: Mapping[str, Mapping[str, Any]] = schema["$defs"]
    return found


def _named() -> Mapping[tuple[str, ...], str]:
    words = {name: [json.dumps(word) for word in get_args(_WORDS[name])] for name in _WORDS}
    unions = {name: _members(tagged) for name, tagged in _UNIONS.items()}
    return {tuple(members): name for name, members in (words | unions).items()}


def _members(tagged: object) -> list[str]:
    options, *_ = get_args(tagged)
    return [option.__name__ for option in get_args(options)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with ``--check`` say which is stale.  Returns the exit status."""
    files = {TARGET: render(), ADMIN_TARGET: render_admin()}
    return write(files, _MODULE, arguments)


def write(files: Mapping[Path, str], module: str, arguments: Sequence[str] | None = None) -> int:
    """Write generated files as the command line asks.  Returns the exit status.

    Args:
        files: what each of them has to say.
        module: which is run to write them.
        arguments: of the command line; with ``--check`` only what is stale is named.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when stale")
    check = parser.parse_args(arguments).check
    status = 0
    for target, text in files.items():
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        if check:
            sys.stderr.write(f"{target.name} is stale: run python -m {module}\n")
            status = 1
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
