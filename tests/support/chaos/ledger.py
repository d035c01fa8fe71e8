"""What was asked of a deployment in a storm and what it answered: the history that is judged."""

from collections import Counter
from dataclasses import dataclass, field

from tests.support.chaos.plan import Plan


@dataclass
class Sent:
    """One send.  It has an answer in the end: a run, or the code of a refusal."""

    agent: str
    key: str
    dedupe: str
    plan: Plan | None
    """``None``: words to a run that goes on anyway."""
    is_alone: bool
    """Whether the thread is free, so that it has to be accepted."""
    begun: float = 0.0
    """When it was said first, and when it was answered (``time.monotonic``)."""
    answered: float = 0.0
    run: str | None = None
    is_steered: bool = False
    refused: str | None = None

    @property
    def text(self) -> str:
        """What is said."""
        return self.plan.to_text() if self.plan is not None else self.dedupe


@dataclass
class Ledger:
    """Everything that was said to a deployment in one round."""

    sends: dict[str, Sent] = field(default_factory=dict)
    """By dedupe key."""
    cancels: dict[str, bool] = field(default_factory=dict)
    """By run: whether a cancel was answered by "cancelled"; asked for is enough to be here."""
    retries: set[str] = field(default_factory=set)
    """Failed runs that were told to go on."""
    decisions: dict[tuple[str, str], str] = field(default_factory=dict)
    """By thread key and call: what the server says was decided."""
    violations: list[str] = field(default_factory=list)
    figures: "Counter[str]" = field(default_factory=Counter)

    def violated(self, sentence: str) -> None:
        """Note that a law was broken."""
        self.violations.append(sentence)

    def by_run(self) -> dict[str, Sent]:
        """Return the sends that started a run, by their run."""
        return {
            sent.run: sent
            for sent in self.sends.values()
            if sent.run is not None and not sent.is_steered
        }
