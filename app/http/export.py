"""Write the HTTP client's types: ``python -m app.http.export [--check]``.

The SDK is told what the routes take and answer by the models that they read and answer with, as
``/openapi.json`` is.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.http import agents, answers, approvals, branches, runs, sessions
from app.protocol.export import Models, render_beside, write

TARGET: Final = Path(__file__).parents[2] / "frontend-sdk" / "src" / "http" / "http.gen.ts"

_MODULE: Final = "app.http.export"

_TAKEN: Final[Models] = (
    agents.Prompt,
    sessions.SendSignal,
    sessions.OfRun,
    branches.Fork,
    branches.Regenerate,
    approvals.Decide,
    runs.Event,
)
_SENT: Final[Models] = (
    answers.Fault,
    answers.AgentList,
    answers.Accepted,
    answers.SessionList,
    answers.Session,
    answers.Signalled,
    answers.Cancelled,
    answers.Retried,
    answers.Forked,
    answers.ApprovalList,
    answers.ResolvedList,
    answers.RunView,
    answers.Delivered,
)


def render() -> str:
    """Return the whole of ``http.gen.ts``."""
    return render_beside(_MODULE, "../core/protocol.gen.js", sent=_SENT, taken=_TAKEN)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or with ``--check`` say that it is stale.  Returns the exit status."""
    return write({TARGET: render()}, _MODULE, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
