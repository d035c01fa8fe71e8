"""The index of what was read says what a look at every reader would say."""

from hypothesis import given
from hypothesis import strategies as st

from app.domain.tables import Keys, Reads, meet
from app.gateway.dependencies import Dependencies

TABLES = st.sampled_from(["ships", "ports"])
KEYS: st.SearchStrategy[Keys] = st.none() | st.frozensets(
    st.sampled_from(["a", "b", "c", "=x", "=y"])
)
READS: st.SearchStrategy[Reads] = st.dictionaries(TABLES, KEYS)


def is_touched(reads: Reads, table: str, keys: Keys) -> bool:
    if table not in reads:
        return False
    read = reads[table]
    return bool(read) if read is not None and keys is None else meet(read, keys)


@given(st.lists(st.tuples(st.integers(0, 2), READS)), TABLES, KEYS)
def test_whoever_read_what_is_written_is_found_and_nobody_else(
    changes: list[tuple[int, Reads]], table: str, keys: Keys
) -> None:
    dependencies: Dependencies[int] = Dependencies()
    of: dict[int, Reads] = {}

    for reader, reads in changes:
        dependencies.replace(reader, of.get(reader, {}), reads)
        of[reader] = reads

    touched = {reader for reader, reads in of.items() if is_touched(reads, table, keys)}
    assert dependencies.touched_by(table, keys) == touched
    assert dependencies.tables == {
        name for reads in of.values() for name, read in reads.items() if read or read is None
    }

    for reader, reads in of.items():
        dependencies.replace(reader, reads, {})
    assert not dependencies.tables
