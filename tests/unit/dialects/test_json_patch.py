"""A patch makes the second value of the first, and is empty only for the same JSON."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.ag_ui import AgUiRun
from app.dialects.json_patch import patch
from tests.support.told_runs import events_in

_names = st.sampled_from(["a", "b", "", "a/b", "~"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


def applied(value: Any, operations: list[dict[str, Any]]) -> Any:  # noqa: ANN401  # any JSON
    """Return what a client makes of a value, as RFC 6902 has it."""
    holder = {"": deepcopy(value)}
    for operation in operations:
        place: Any = holder
        steps = operation["path"].split("/")
        *above, last = [step.replace("~1", "/").replace("~0", "~") for step in steps]
        for step in above:
            place = place[step]
        if operation["op"] == "remove":
            del place[last]
        else:
            assert (last in place) == (operation["op"] == "replace")
            place[last] = operation["value"]
    return holder[""]


@given(before=_json, after=_json)
def test_a_patch_leads_from_one_value_to_the_other(before: Any, after: Any) -> None:  # noqa: ANN401  # any JSON
    made = applied(before, patch(before, after))

    assert repr(_ordered(made)) == repr(_ordered(after))


@given(value=_json)
def test_the_same_value_needs_none(value: Any) -> None:  # noqa: ANN401  # any JSON
    assert patch(value, deepcopy(value)) == []


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), ({"a": 1}, {"a": True})])
def test_a_number_is_no_truth(before: object, after: object) -> None:
    assert patch(before, after)


@pytest.mark.parametrize("name", ["__proto__", "prototype"])
def test_a_name_that_clients_refuse_in_a_patch_comes_with_the_whole_state(name: str) -> None:
    telling = AgUiRun("run", thread_id="t", called="r", is_new=True)
    odd, more = {"constructor": {name: 1, "a": 1}}, {"constructor": {name: 1, "a": 2}}
    telling.state({"constructor": {"a": 1}})

    (whole,) = events_in(telling.state(odd))
    (delta,) = events_in(telling.state(more))

    assert whole == {"type": "STATE_SNAPSHOT", "snapshot": odd}
    assert [each["path"] for each in delta["delta"]] == ["/constructor/a"]


def _ordered(value: Any) -> Any:  # noqa: ANN401  # any JSON
    """Return a value whose ``repr`` tells ``1`` from ``True``, and not how names are ordered."""
    if isinstance(value, dict):
        return sorted((name, _ordered(each)) for name, each in value.items())
    return [_ordered(each) for each in value] if isinstance(value, list) else value
