"""Whether a play came to the end that its scenario says."""

from collections.abc import Collection

from tests.support.crash_points.scenarios import THREAD, Scenario
from tests.support.law_evidence import Evidence, Row
from tests.support.laws import Violation


def as_played(scenario: Scenario, evidence: Evidence, done: Collection[str]) -> list[Violation]:
    """Return how the end differs from what the scenario says.

    Args:
        scenario: what was played.
        evidence: what is there.
        done: the names of the acts that were done.
    """
    (thread,) = [row for row in evidence.rows["threads"] if row["key"] == THREAD]
    runs = [row for row in evidence.rows["runs"] if row["thread"] == thread["id"]]
    runs.sort(key=lambda row: str(row["created_at"]))
    messages = [row for row in evidence.rows["messages"] if row["thread"] == thread["id"]]
    messages.sort(key=lambda row: int(row["seq"]))
    said = tuple(_text(row) for row in messages if row["role"] == "user")
    found = {
        "ends": tuple(run["status"] for run in runs),
        "last_words": _text(messages[-1]),
        "answers": sum(row["role"] == "assistant" for row in messages),
        "said": said,
        "tallies": (thread["state"] or {}).get("tallies"),
    }
    if scenario.at_hold is not None and scenario.at_hold.name not in done:
        del found["said"]
    wrong = [
        f"{what} is {there!r}, and should be {getattr(scenario, what)!r}"
        for what, there in found.items()
        if getattr(scenario, what) not in {None, there}
    ]
    errors = [run["error"] for run in evidence.rows["runs"] if run["error"]]
    if errors:
        wrong.append(f"runs have failed: {errors}")
    if scenario.ends == ("completed",):
        wrong += [
            f"message {row['key']} is {row['status']}"
            for row in messages
            if row["status"] != "complete"
        ]
    return [Violation("as played", sentence) for sentence in wrong]


def _text(message: Row) -> str:
    return "".join(part.get("text", "") for part in message["parts"])
