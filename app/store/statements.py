"""The statements that lock and write at once, kept as SQL in ``sql/``."""

from importlib.resources import files

from app.store.rows import RUN, THREAD, columns

_FOLDER = files("app.store") / "sql"


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


RECORD = _read("record")
CLAIM = _read("claim").format(
    thread_columns=columns(THREAD, "t", "t_"), run_columns=columns(RUN, "r", "r_")
)
TAKE_OVER = _read("take_over")
