"""Rows as the wire shows them: the one place where a stored row becomes JSON.

Provider-private data (``Message.model``) has no way out of here.  The shapes
are declared in ``app.protocol.rows``; a test holds the two together.
"""

from collections.abc import Sequence
from datetime import datetime

from app.domain.approval import Approval, ApprovalStatus, input_hash
from app.domain.branching import Branches
from app.domain.message import Message, Role, plain_text
from app.domain.ports import ThreadSnapshot, WaitingSend
from app.domain.run import Run
from app.domain.storable import Json
from app.domain.thread import Thread


def message_view(message: Message) -> dict[str, Json]:
    """Return a message as clients get it."""
    view: dict[str, Json] = {
        "id": message.id,
        "seq": message.seq,
        "runId": message.run_id,
        "role": message.role.value,
        "status": message.status.value,
        "text": plain_text(message.parts),
        "parts": list(message.parts),
        "createdAt": _time(message.created_at),
    }
    if message.turn is not None and message.role in {Role.ASSISTANT, Role.TOOL}:
        view["turn"] = message.turn
    optional: dict[str, Json] = {
        "dedupe": message.dedupe,
        "author": message.author,
        "model": message.model_name,
        "usage": message.usage,
    }
    view.update({name: value for name, value in optional.items() if value is not None})
    return view


def approval_view(approval: Approval) -> dict[str, Json]:
    """Return a pending approval as clients get it.

    ``key`` is of the conversation that asks, which may be that of a child run.
    """
    view: dict[str, Json] = {
        "id": approval.id,
        "key": approval.thread_key,
        "agent": approval.agent,
        "runId": approval.run_id,
        "toolCallId": approval.tool_call_id,
        "name": approval.name,
        "input": approval.input,
        "inputHash": input_hash(approval.input),
        "editable": approval.rules.editable,
        "approvers": list(approval.rules.approvers),
        "requestedAt": _time(approval.requested_at),
    }
    if approval.expires_at is not None:
        view["expiresAt"] = _time(approval.expires_at)
        view["onExpiry"] = approval.rules.on_expiry.value
    return view


def approval_record(approval: Approval, *, may_decide: bool) -> dict[str, Json]:
    """Return an approval with what became of it, as inbox and history show it."""
    view: dict[str, Json] = {
        **approval_view(approval),
        "owner": approval.owner,
        "title": approval.thread_title,
        "status": approval.status.value,
        "mayDecide": may_decide and approval.status is ApprovalStatus.PENDING,
    }
    further: dict[str, Json] = {
        "conversation": approval.conversation_key,
        "decidedBy": approval.decided_by,
        "place": None if approval.place is None else approval.place.value,
        "reason": approval.reason,
        "editedInput": approval.edited_input,
        "decidedAt": _time(approval.decided_at),
    }
    view.update({name: value for name, value in further.items() if value is not None})
    return view


def thread_view(snapshot: ThreadSnapshot) -> dict[str, Json]:
    """Return a thread as ``agents:agentThread`` shows it.

    ``runId`` is the live run, else the one that ended last; ``output`` is its answer, where a
    form was asked for.  ``waiting`` are sends that nobody has read yet, in the order in which
    they will be.
    """
    thread = snapshot.thread
    view: dict[str, Json] = {
        **thread_summary(thread),
        "runId": snapshot.run_id,
        "runStatus": snapshot.run_status.value if snapshot.run_status else None,
        "stopped": snapshot.stopped,
        "pendingApprovals": [approval_view(approval) for approval in snapshot.approvals],
        "waiting": waiting_views(snapshot.waiting),
    }
    if snapshot.output is not None:
        view["output"] = snapshot.output
    if snapshot.branches is not None:
        view["branches"] = branches_view(snapshot.branches)
    if snapshot.conversation is not None:
        view["conversation"] = snapshot.conversation
    return view


def branches_view(branches: Branches) -> dict[str, Json]:
    """Return the threads of a conversation, the root first, and which one is shown."""
    return {
        "selected": branches.key_of(branches.selected),
        "list": [
            {
                "key": each.key,
                "parent": branches.key_of(each.parent),
                "shared": each.shared,
                "createdAt": _time(each.created_at),
            }
            for each in branches.threads
        ],
    }


def waiting_views(waiting: Sequence[WaitingSend]) -> list[Json]:
    """Return the sends that wait, each with its place in the queue, from 1."""
    return [_waiting_view(each, place) for place, each in enumerate(waiting, start=1)]


def _waiting_view(waiting: WaitingSend, place: int) -> dict[str, Json]:
    view: dict[str, Json] = {
        "id": waiting.id,
        "kind": "run" if waiting.is_run else "signal",
        "text": waiting.text,
        "position": place,
        "createdAt": _time(waiting.created_at),
    }
    optional: dict[str, Json] = {"author": waiting.author, "dedupe": waiting.dedupe}
    view.update({name: value for name, value in optional.items() if value is not None})
    return view


def thread_summary(thread: Thread) -> dict[str, Json]:
    """Return what a list of threads shows of one."""
    return {
        "key": thread.key,
        "agent": thread.agent,
        "owner": thread.owner,
        "title": thread.title,
        "status": thread.status.value,
        "usage": thread.usage.to_json(),
        "error": thread.error.to_json() if thread.error else None,
        "createdAt": _time(thread.created_at),
        "updatedAt": _time(thread.updated_at),
    }


def run_view(run: Run) -> dict[str, Json]:
    """Return a run as ``GET /runs/{id}`` and ``status`` show it."""
    return {
        "id": run.id,
        "agent": run.agent,
        "status": run.status.value,
        "turn": run.turn,
        "usage": run.usage.to_json(),
        "stopped": run.stopped,
        "error": run.error.to_json() if run.error else None,
        "output": run.output,
        "createdAt": _time(run.created_at),
        "finishedAt": _time(run.finished_at),
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None
