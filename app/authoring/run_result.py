"""What a run has come to, for the server code that started it: ``ctx.agents.SLUG.result(...)``."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.domain.run import RunError, Usage

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class RunResult(Generic[Output]):
    """What a run has come to by now; a failure is told here, and never raised.

    Attributes:
        run_id: the run's.
        status: where it is (``queued``, ``running``, ``completed``, ``failed``, ...).
        output: its answer, an instance of the type that it was asked for in; ``None`` while there
            is none, and of a run without a form.
        stopped: how it ended: ``final``, ``maxTurns``, ``cancelled``, ``error``; ``None`` before.
        error: why it failed.
        usage: the tokens that it has used.
    """

    run_id: str
    status: str
    output: Output | None = None
    stopped: str | None = None
    error: RunError | None = None
    usage: Usage = field(default_factory=Usage)
