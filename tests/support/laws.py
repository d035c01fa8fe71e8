"""The laws, held against everything that is known of a deployment after it has come to rest.

``check`` is for whoever tries to break the product: it kills, freezes, cuts and floods, waits
until nothing is going on any more, gathers the evidence (``tests.support.law_evidence``) and asks.
What it answers are violations, each a law and a sentence; the caller adds how to make it happen
again.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.run import FINAL, LIVE, RunStatus, Usage
from tests.support.law_bodies import body_faults, word_faults
from tests.support.law_evidence import Evidence, Row
from tests.support.law_moments import moment_faults


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that did not hold."""

    law: str
    sentence: str

    def __str__(self) -> str:
        """Return both."""
        return f"[{self.law}] {self.sentence}"


async def check(evidence: Evidence, *, at_rest: bool = True) -> list[Violation]:
    """Return what is wrong.

    Args:
        evidence: see there.
        at_rest: whether nothing is going on any more: then nothing may be left over.
    """
    faults = {
        "at every moment": await moment_faults(evidence),
        "bodies": list(body_faults(evidence)),
        "words": list(word_faults(evidence)),
    }
    if at_rest:
        faults |= {
            "at rest": list(rest_faults(evidence)),
            "Redis": list(key_faults(evidence)),
            "usage": list(usage_faults(evidence)),
        }
    return [Violation(law, sentence) for law, sentences in faults.items() for sentence in sentences]


def rest_faults(evidence: Evidence) -> Iterator[str]:
    """Nothing is under way, and nothing is left that nobody looks after."""
    runs = {row["id"]: row for row in evidence.rows["runs"]}
    for run in runs.values():
        if RunStatus(run["status"]) not in FINAL:
            yield f"run {run['id']} of {run['agent']} is {run['status']}, driven by {run['worker']}"
        elif run["worker"] is not None:
            yield f"run {run['id']} has ended, and still names the worker {run['worker']}"
    for thread in evidence.rows["threads"]:
        live = runs.get(thread["live_run"] or "")
        if live is not None and RunStatus(live["status"]) not in LIVE:
            yield f"thread {thread['key']} is busy with run {live['id']}, which is {live['status']}"
    yield from _open_faults(evidence)
    recorded = {f"{row['run']}/{row['name']}" for row in evidence.rows["steps"]}
    for death in evidence.deaths:
        for key in sorted(death.finished - recorded):
            yield f"a store held {key} when {death.pid} died, and it is recorded nowhere"
    for table in evidence.rows:
        yield from _doubles(table, evidence.rows[table])


def _open_faults(evidence: Evidence) -> Iterator[str]:
    for row in evidence.rows["messages"]:
        if row["status"] == "open":
            yield f"the result {row['key']} never came"
    for approval in evidence.rows["approvals"]:
        if approval["status"] == "pending":
            yield f"the approval of {approval['tool_call_id']} is still asked for"
    for timer in evidence.rows.get("timers", ()):
        if timer["fired_at"] is None:
            yield f"the timer {timer['id']} is still to fire"
    for signal in evidence.rows.get("signals", ()):
        if signal["read_at"] is None:
            yield f"nobody has read {signal['text']!r}"


def _doubles(table: str, rows: Sequence[Row]) -> Iterator[str]:
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update([row["id"]] if "id" in row else [f"{row.get('run')}/{row.get('name', row)}"])
    for name, times in counted.items():
        if times > 1:
            yield f"{table} has {name} {times} times"


def key_faults(evidence: Evidence) -> Iterator[str]:
    """A thread that has nothing to do has no key, and no key stays for ever."""
    busy = {
        row["thread"] for row in evidence.rows["runs"] if row["status"] in {"queued", "running"}
    }
    excused = {thread for death in evidence.deaths for thread in death.over}
    for key, left_ms in evidence.keys.items():
        if left_ms < 0:
            yield f"the key {key} would stay for ever"
        prefix = f"{evidence.namespace}:{{"
        thread = key.removeprefix(prefix).split("}")[0] if key.startswith(prefix) else "queue"
        if thread != "queue" and thread not in busy | excused:
            yield f"the key {key} was left behind"


def usage_faults(evidence: Evidence) -> Iterator[str]:
    """What a run and a thread cost is the sum of their turns.

    A request that was cut off before a word of it was said has no turn: then its run has ended
    otherwise than completed, and the sums may be higher by one request for each such end.
    """
    cut_off: Counter[str] = Counter()
    for change in evidence.changes:
        if change.table == "runs" and change.row["status"] in {"cancelled", "failed"}:
            cut_off.update((change.row["id"], change.row["thread"]))
    spent = [row for row in evidence.rows["messages"] if row["usage"]]
    for table, owner in (("runs", "run"), ("threads", "thread")):
        for row in evidence.rows[table]:
            total = Usage()
            for message in spent:
                if message[owner] == row["id"]:
                    total += Usage.from_json(message["usage"])
            said = Usage.from_json(row["usage"])
            extra = said.requests - total.requests
            if said != total and not 0 < extra <= cut_off[row["id"]]:
                yield f"{owner} {row['id']} says {row['usage']}, its turns make {total.to_json()}"
