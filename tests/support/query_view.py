"""What a client knows of one query of a function's: its last answer, or why there is none."""

from typing import Any

Frame = dict[str, Any]


class QueryView:
    """The answers so far.  ``error`` is what was said last, if that was no answer."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    @property
    def is_answered(self) -> bool:
        """Whether anything was said on this socket or an earlier one."""
        return bool(self.frames)

    @property
    def error(self) -> Frame | None:
        """Why there is no answer now."""
        last = self.frames[-1] if self.frames else None
        return last if last is not None and last["type"] == "error" else None

    @property
    def value(self) -> Any:  # noqa: ANN401 - any JSON
        """The last answer."""
        assert self.frames, "nothing was said yet"
        last = self.frames[-1]
        assert last["type"] == "snapshot", f"no answer: {last}"
        return last["value"]

    @property
    def values(self) -> list[Any]:
        """All answers, in order."""
        return [frame["value"] for frame in self.frames if frame["type"] == "snapshot"]

    @property
    def said(self) -> tuple[str, Any]:
        """What was said last, apart from cursors: to be compared."""
        last = self.frames[-1]
        return last["type"], last["code"] if last["type"] == "error" else last["value"]

    def apply(self, frame: Frame) -> None:
        """Take a frame."""
        self.frames.append(frame)
