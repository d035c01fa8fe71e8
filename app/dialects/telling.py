"""What whoever drives a telling needs of it: one method for each thing that our wire says."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from app.dialects.events import Ending, Refusal, Row


class Telling(Protocol):
    """One run in another protocol's words, for one reader.

    Each method returns the bytes to send, which may be none.
    """

    @property
    def run_id(self) -> str:
        """The run that is told."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What the response says of itself, beside that it is a stream of events."""
        ...

    @property
    def tells_state(self) -> bool:
        """Whether the thread's synced state is told, too."""
        ...

    @property
    def is_in_question(self) -> bool:
        """Whether the run may be over, or wait for people."""
        ...

    def begin(self) -> bytes:
        """Open the telling."""
        ...

    def errors_in(self, rows: Iterable[Row]) -> list[str]:
        """Return calls in ``rows`` that failed; a person may have refused them."""
        ...

    def rows(self, rows: Iterable[Row], refused: Mapping[str, Refusal]) -> bytes:
        """Tell messages that are stored."""
        ...

    def token(self, token: Mapping[str, Any]) -> bytes:
        """Tell a piece of live text."""
        ...

    def thread(self, view: Mapping[str, Any] | None) -> bytes:
        """Tell what the thread shows of its run."""
        ...

    def state(self, value: Any) -> bytes:  # noqa: ANN401  # any JSON
        """Tell the synced state."""
        ...

    def end(self, ending: Ending) -> bytes:
        """Close the telling."""
        ...

    def break_off(self, reason: str) -> bytes:
        """Say that the telling stops here, though the run goes on."""
        ...
