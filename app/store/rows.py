"""Rows become domain values here, and nowhere else.

A query that joins tables names columns ``PREFIX_column``; the columns of each table are
listed once, so that every query that returns a row returns all of it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from app.domain.approval import Approval, ApprovalRules, ApprovalStatus, Place
from app.domain.message import Message, MessageStatus, Part, Role
from app.domain.run import ParentStep, Run, RunError, RunStatus, Usage
from app.domain.signal import Signal, SignalMode
from app.domain.storable import Json, decode
from app.domain.thread import Thread, ThreadStatus
from app.store.executors import Row

THREAD = (
    *("id", "key", "agent", "owner", "title", "status", "live_run", "epoch", "seq", "version"),
    *("wakes", "usage", "error", "created_at", "updated_at"),
)
RUN = (
    *("id", "thread", "agent", "status", "turn", "usage", "policy", "stopped", "error", "worker"),
    *("output", "attempts", "crashes", "agent_version", "parent", "parent_thread", "parent_fact"),
    *("override", "created_at", "queued_at", "finished_at"),
)
MESSAGE = (
    *("id", "thread", "run", "seq", "version", "role", "status", "turn", "parts", "model_name"),
    *("usage", "author", "dedupe", "created_at"),
)
"""Without ``model``, which never leaves the server."""
APPROVAL = (
    *("id", "thread", "run", "tool_call_id", "name", "input", "rules", "status", "version"),
    *("requested_at", "decided_by", "place", "reason", "edited_input", "decided_at", "root"),
)
SIGNAL = ("id", "thread", "place", "mode", "text", "sender", "author", "dedupe", "created_at")


def columns(names: tuple[str, ...], table: str, prefix: str = "") -> str:
    """Return a select list of these columns of ``table``."""
    return ", ".join(f"{table}.{name} AS {prefix}{name}" for name in names)


THREADS = f"SELECT {columns(THREAD, 't')} FROM agent_threads t"
RUNS = f"SELECT {columns(RUN, 'r')} FROM agent_runs r"
MESSAGES = f"SELECT {columns(MESSAGE, 'm')} FROM agent_messages m"
APPROVALS = f"""
SELECT {columns(APPROVAL, "a")}, k.key AS thread_key, k.agent, k.owner, k.title AS thread_title,
       b.key AS conversation_key
  FROM agent_approvals a JOIN agent_threads k ON k.id = a.thread
  LEFT JOIN agent_threads b ON b.id = k.conversation
"""
SIGNALS = f"SELECT {columns(SIGNAL, 'g')} FROM agent_signals g"

Parse: TypeAlias = Callable[[Any], Any]


def parsed_already(value: Any) -> Any:  # noqa: ANN401  # the column says what it is
    """Return a JSON column's value that came inside other JSON, as it is."""
    return value


def parse_json(stored: Any) -> Any:  # noqa: ANN401  # the column says what it is
    """Return a JSON column's value, as the driver hands it out: as text.

    Inside a function's transaction it comes parsed, which can be told for objects and lists,
    and nothing else is read there.
    """
    return decode(stored) if isinstance(stored, str) else stored


def thread_from(row: Row, prefix: str = "") -> Thread:
    """Return the thread in a row."""
    return Thread(
        id=row[f"{prefix}id"],
        key=row[f"{prefix}key"],
        agent=row[f"{prefix}agent"],
        status=ThreadStatus(row[f"{prefix}status"]),
        live_run=row[f"{prefix}live_run"],
        epoch=row[f"{prefix}epoch"],
        seq=row[f"{prefix}seq"],
        version=row[f"{prefix}version"],
        wakes=row[f"{prefix}wakes"],
        owner=row[f"{prefix}owner"],
        title=row[f"{prefix}title"],
        usage=Usage.from_json(parse_json(row[f"{prefix}usage"])),
        error=_error(row[f"{prefix}error"]),
        created_at=row[f"{prefix}created_at"],
        updated_at=row[f"{prefix}updated_at"],
    )


def run_from(row: Row, prefix: str = "") -> Run:
    """Return the run in a row."""
    return Run(
        id=row[f"{prefix}id"],
        thread_id=row[f"{prefix}thread"],
        agent=row[f"{prefix}agent"],
        status=RunStatus(row[f"{prefix}status"]),
        turn=row[f"{prefix}turn"],
        usage=Usage.from_json(parse_json(row[f"{prefix}usage"])),
        policy=parse_json(row[f"{prefix}policy"]),
        stopped=row[f"{prefix}stopped"],
        error=_error(row[f"{prefix}error"]),
        output=output_from(row[f"{prefix}output"]),
        worker=row[f"{prefix}worker"],
        attempts=row[f"{prefix}attempts"],
        crashes=row[f"{prefix}crashes"],
        agent_version=row[f"{prefix}agent_version"],
        override=row[f"{prefix}override"],
        parent=_parent(row, prefix),
        created_at=row[f"{prefix}created_at"],
        queued_at=row[f"{prefix}queued_at"],
        finished_at=row[f"{prefix}finished_at"],
    )


def output_from(stored: Any) -> Json:  # noqa: ANN401  # as the column has it
    """Return a run's answer; it is wrapped, so that a null is one."""
    return (parse_json(stored) or {}).get("value")


def message_from(row: Row, *, model: str | None = None, parse: Parse = parse_json) -> Message:
    """Return the message in a row; its private ``model`` only when it is handed in."""
    return Message(
        id=row["id"],
        thread_id=row["thread"],
        seq=row["seq"],
        version=row["version"],
        run_id=row["run"],
        role=Role(row["role"]),
        status=MessageStatus(row["status"]),
        parts=parse(row["parts"]),
        created_at=row["created_at"],
        turn=row["turn"],
        model=model,
        model_name=row["model_name"],
        usage=parse(row["usage"]),
        author=row["author"],
        dedupe=row["dedupe"],
    )


def parts_from(stored: str) -> list[Part]:
    """Return a message's stored parts."""
    parts: list[Part] = parse_json(stored)
    return parts


def approval_from(row: Row, *, parse: Parse = parse_json) -> Approval:
    """Return the approval in a row."""
    return Approval(
        id=row["id"],
        thread_id=row["thread"],
        run_id=row["run"],
        tool_call_id=row["tool_call_id"],
        name=row["name"],
        input=parse(row["input"]),
        status=ApprovalStatus(row["status"]),
        version=row["version"],
        requested_at=row["requested_at"],
        rules=ApprovalRules.from_json(parse(row["rules"])),
        decided_by=row["decided_by"],
        place=None if row["place"] is None else Place(row["place"]),
        reason=row["reason"],
        edited_input=parse(row["edited_input"]),
        decided_at=row["decided_at"],
        root=row["root"],
        thread_key=row["thread_key"],
        agent=row["agent"],
        owner=row["owner"],
        thread_title=row["thread_title"],
        conversation_key=row["conversation_key"],
    )


def signal_from(row: Row) -> Signal:
    """Return the signal in a row."""
    return Signal(
        id=row["id"],
        thread_id=row["thread"],
        mode=SignalMode(row["mode"]),
        text=row["text"],
        sender=row["sender"],
        created_at=row["created_at"],
        author=row["author"],
        dedupe=row["dedupe"],
    )


def listed(aggregated: str | None, time: str) -> list[dict[str, Any]]:
    """Return the rows that Postgres gathered as JSON, with their time as the driver would."""
    rows: list[dict[str, Any]] = parse_json(aggregated) or []
    for row in rows:
        row[time] = datetime.fromisoformat(row[time])
    return rows


def _parent(row: Row, prefix: str) -> ParentStep | None:
    if row[f"{prefix}parent"] is None:
        return None
    return ParentStep(
        row[f"{prefix}parent_thread"], row[f"{prefix}parent"], row[f"{prefix}parent_fact"]
    )


def _error(stored: str | None) -> RunError | None:
    return RunError(**parse_json(stored)) if stored else None
