"""Whether a finished step's body ever started again, and whether words were told twice."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.support.body_log import Line
from tests.support.law_evidence import Change, Evidence

_GOES_ON = frozenset({"running", "failed"})


def body_faults(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each body that started when it must not."""
    interrupted = _interruptions(evidence.changes)
    recorded = _recorded_at(evidence.changes)
    bodies = [line for line in evidence.bodies if line not in evidence.late]
    for key, starts in _starts(bodies).items():
        run = key.split("/", 1)[0]
        for first, second in pairwise(starts):
            if second.pid == first.pid and second.attempt > first.attempt:
                continue  # the step's own policy tried again
            if not any(first.at_ns < at < second.at_ns for at in interrupted[run]):
                yield f"{key} started twice though nobody took the run over in between"
        for start in starts:
            if start.at_ns > recorded.get(key, start.at_ns):
                yield f"{key} started in {start.pid} after it was recorded"
            for death in evidence.deaths:
                if key in death.finished and start.at_ns > death.at_ns:
                    yield f"{key} started again though a store held it when {death.pid} died"


def word_faults(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each delta that a reader would show twice, or in the wrong place."""
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    length: dict[tuple[str, str, int, int, int], int] = {}
    for words in evidence.words:
        token = words.token
        told = (token["turn"], token["attempt"])
        if told < newest.get((words.thread, token["run"]), (0, 0)):
            yield f"turn and attempt {told} of run {token['run']} came after a newer one"
        newest[words.thread, token["run"]] = told
        part = (words.thread, token["run"], *told, token["part"])
        if token["offset"] != length.get(part, 0):
            yield (
                f"words of run {token['run']}, turn and attempt {told}, came at "
                f"{token['offset']} where {length.get(part, 0)} had been said"
            )
        length[part] = token["offset"] + len(token["text"].encode("utf-16-le")) // 2


def _starts(bodies: Sequence[Line]) -> dict[str, list[Line]]:
    starts: dict[str, list[Line]] = defaultdict(list)
    for line in bodies:
        if line.event == "start":
            starts[line.key].append(line)
    return starts


def _interruptions(changes: Sequence[Change]) -> dict[str, list[int]]:
    """Return when each run was taken from whoever drove it, or retried."""
    found: dict[str, list[int]] = defaultdict(list)
    for change in changes:
        old, new = change.old, change.new
        if change.table != "runs" or old is None or new is None:
            continue
        if new["status"] == "queued" and old["status"] in _GOES_ON:
            found[new["id"]].append(change.at_ns)
    return found


def _recorded_at(changes: Sequence[Change]) -> dict[str, int]:
    return {
        f"{change.new['run']}/{change.new['name']}": change.at_ns
        for change in changes
        if change.table == "steps" and change.new and not change.old
    }
