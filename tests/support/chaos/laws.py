"""What people were promised, held against what they asked for and what they see.

``tests.support.laws`` judges the stores; here the history of a storm is judged: each accepted send
came to its end, each end was asked for, each page shows what is stored.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tests.support.chaos.client import ChaosClient
from tests.support.chaos.ledger import Ledger, Sent
from tests.support.chaos.plan import RETRIES, Plan, PlannedTool
from tests.support.chaos.text import Frame
from tests.support.law_evidence import Evidence, Row

NOT_APPROVED = "not approved"


def promise_faults(ledger: Ledger, evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each promise to a sender, a canceller or a decider that was broken."""
    runs = {row["id"]: row for row in evidence.rows["runs"]}
    messages: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(evidence.rows["messages"], key=lambda row: row["seq"]):
        messages[row["run"]].append(row)
    yield from _send_faults(ledger, runs, messages)
    yield from _order_faults(ledger, evidence.rows["messages"])
    for run_id, sent in ledger.by_run().items():
        run = runs.get(run_id)
        if run is None:
            yield f"{sent.key}: run {run_id} was accepted and does not exist"
        elif sent.plan is not None:
            yield from _ending_faults(ledger, sent, sent.plan, run)
            yield from _word_faults(sent, sent.plan, run, messages[run_id])
            yield from _result_faults(ledger, sent, sent.plan, messages[run_id])
    yield from _state_faults(evidence)


def _send_faults(
    ledger: Ledger, runs: Mapping[str, Row], messages: Mapping[str, Sequence[Row]]
) -> Iterator[str]:
    """Each accepted send is one message, and each run answers one."""
    asked = defaultdict(list)
    for run_id, rows in messages.items():
        for row in rows:
            if row["role"] == "user" and row["dedupe"] is not None:
                asked[row["dedupe"]].append(run_id)
    for sent in ledger.sends.values():
        found = asked.pop(sent.dedupe, [])
        if sent.run is None and sent.refused is None:
            yield f"{sent.key}: the send {sent.dedupe} was never answered"
        is_right = len(found) == 1 if sent.is_steered else found == [sent.run]
        is_withdrawn = not found and _was_withdrawn(ledger, runs.get(sent.run or ""))
        if sent.run is not None and not is_right and not is_withdrawn:
            yield f"{sent.key}: the send {sent.dedupe}, accepted as {sent.run}, is in {found}"
        if sent.run is None and found:
            yield f"{sent.key}: the send {sent.dedupe} was refused, and is in {found}"
    if asked:
        yield f"messages that nobody sent: {dict(asked)}"
    begun = ledger.by_run().keys()
    for run in runs.values():
        first = messages[run["id"]][:1]
        by_a_message = bool(first) and first[0]["dedupe"] in ledger.sends
        if run["id"] not in begun and run["parent"] is None and not by_a_message:
            yield f"run {run['id']} was started by nobody's accepted send"


def _was_withdrawn(ledger: Ledger, run: Row | None) -> bool:
    """Whether a run was cancelled, as somebody asked, while it was still held back."""
    return (
        run is not None
        and run["status"] == "cancelled"
        and run["input"] is not None
        and run["id"] in ledger.cancels
    )


def _order_faults(ledger: Ledger, messages: Sequence[Row]) -> Iterator[str]:
    """What was said after another thing had been answered stands after it."""
    place = {row["dedupe"]: row["seq"] for row in messages if row["dedupe"] is not None}
    by_key: dict[str, list[Sent]] = defaultdict(list)
    for sent in ledger.sends.values():
        if sent.dedupe in place:
            by_key[sent.key].append(sent)
    for key, sents in by_key.items():
        for one, next_ in pairwise(sorted(sents, key=lambda sent: sent.begun)):
            if one.answered < next_.begun and place[one.dedupe] > place[next_.dedupe]:
                yield f"{key}: {next_.dedupe} stands before {one.dedupe}, which was said earlier"


def _ending_faults(ledger: Ledger, sent: Sent, plan: Plan, run: Row) -> Iterator[str]:
    where = f"{sent.key}: run {run['id']}"
    match run["status"]:
        case "completed" if plan.fails and run["id"] not in ledger.retries:
            yield f"{where} is completed, though its provider refused"
        case "failed" if not plan.fails:
            yield f"{where} failed: {run['error']}"
        case "cancelled" if run["id"] not in ledger.cancels and not _was_replaced(ledger, sent):
            yield f"{where} is cancelled, and nobody asked for it"
        case status:
            if ledger.cancels.get(run["id"]) and status != "cancelled":
                yield f"{where} is {status}, though a cancel was answered by yes"


def _was_replaced(ledger: Ledger, sent: Sent) -> bool:
    """Whether something was said to the same thread that may have replaced this."""
    return sent.agent == "replacing" and any(
        other is not sent and other.key == sent.key and other.answered > sent.begun
        for other in ledger.sends.values()
    )


def _word_faults(sent: Sent, plan: Plan, run: Row, messages: Sequence[Row]) -> Iterator[str]:
    """A completed run said everything that it had to say, once and in order."""
    where = f"{sent.key}: run {run['id']} ({run['status']})"
    said = {
        row["turn"]: _text(row)
        for row in messages
        if row["role"] == "assistant" and row["status"] == "complete"
    }
    if list(said) != list(range(len(said))):
        yield f"{where} has the turns {list(said)}"
    for turn, text in said.items():
        if not plan.is_said(turn, text, whole=True):
            yield f"{where} said {text!r} in turn {turn}"
    missing = len(plan.turns) - len(said)
    if run["status"] == "completed" and (missing > 0 or (missing and sent.agent != "steering")):
        yield f"{where} has {len(said)} of {len(plan.turns)} turns"


def _result_faults(
    ledger: Ledger, sent: Sent, plan: Plan, messages: Sequence[Row]
) -> Iterator[str]:
    """Each result is that of its own call, and says what had to come of it."""
    planned = {json.dumps(call.arguments, sort_keys=True): call for call in plan.calls}
    calls = {part["toolCallId"]: part for row in messages for part in _parts(row, "tool_call")}
    for row in messages:
        for part in _parts(row, "tool_result"):
            asked = calls.get(part["toolCallId"])
            if asked is None:
                yield f"{sent.key}: a result without a call: {part}"
            elif row["status"] == "complete":
                call = planned[json.dumps(asked["input"], sort_keys=True)]
                decision = ledger.decisions.get((sent.key, part["toolCallId"]))
                if not _is_right(call, part, decision):
                    yield f"{sent.key}: {call} ({decision}) has the result {str(part)[:300]}"


def _is_right(call: PlannedTool, result: Row, decision: str | None) -> bool:
    output = result["output"]
    if call.name == "sign" and NOT_APPROVED in str(output):
        # Its decider may never have heard the answer.
        return bool(result["isError"]) and decision in {"denied", None}
    if call.name == "sign" and decision == "denied":
        return False
    if call.child:
        child = Plan.from_text(call.child)
        last = len(child.turns) - 1 if child is not None else 0
        return child is not None and child.is_said(last, str(output), whole=True)
    if call.fails > RETRIES:
        return bool(result["isError"])
    return not result["isError"] and isinstance(output, dict) and output["token"] == call.token


def _state_faults(evidence: Evidence) -> Iterator[str]:
    """A call that counts itself in the state is there once, however often its body ran."""
    recorded: dict[str, int] = defaultdict(int)
    for row in evidence.rows["messages"]:
        if row["status"] == "complete":
            for part in _parts(row, "tool_result"):
                recorded[row["thread"]] += part["name"] == "remember" and not part["isError"]
    for thread in evidence.rows["threads"]:
        state = thread["state"] or {}
        if any(times != 1 for times in state.values()):
            yield f"{thread['key']}: a change of the state was made twice: {state}"
        if len(state) < recorded[thread["id"]]:
            yield f"{thread['key']}: {recorded[thread['id']]} changes, and the state is {state}"


def page_faults(
    client: ChaosClient,
    stored: Mapping[str, Sequence[Frame]],
    values: Mapping[tuple[str, str], Frame],
) -> Iterator[str]:
    """Yield a sentence for each thing that a page shows and that is not so.

    Args:
        client: its sockets are at rest.
        stored: a thread's messages as the server answers them now, by key.
        values: what it answers to queries that are no list, by query and key.
    """
    name = f"a {client.mood.name} client"
    for view in client.views.values():
        key = view.args["key"]
        if difference := _difference(view.rows, stored[key]):
            yield f"{key}: {name} shows {difference}"
        shown = view.shown(client.thread_of(view))
        if shown:
            yield f"{key}: {name} shows for ever that somebody speaks: {shown}"
    for watch in client.values.values():
        key = watch.args["key"]
        there = values[watch.query, key]
        if watch.value != there:
            yield f"{key}: {name} shows {watch.value} for {watch.query}, it is {there}"


def _difference(shown: Sequence[Frame], stored: Sequence[Frame]) -> str | None:
    """Return what is shown otherwise than it is stored, among the rows that both have."""
    if not shown or not stored:
        return f"{len(shown)} messages, {len(stored)} are stored" if shown or stored else None
    both = min(len(shown), len(stored))
    for mine, theirs in zip(shown[-both:], stored[-both:], strict=True):
        if mine != theirs:
            return f"{_brief(mine)}, stored is {_brief(theirs)}"
    return None


def _brief(row: Frame) -> str:
    return f"{row['seq']} {row['role']} {row['status']} {str(row['parts'])[:200]}"


def _parts(row: Row, kind: str) -> list[Row]:
    return [part for part in row["parts"] if part["type"] == kind]


def _text(row: Row) -> str:
    return "".join(part["text"] for part in _parts(row, "text"))
