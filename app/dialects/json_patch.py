"""The difference of two JSON values, as a patch (RFC 6902).

Objects are compared name by name; whatever else differs is replaced as a whole.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def patch(before: Any, after: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # any JSON
    """Return the operations that make ``after`` of ``before``; none if they are equal."""
    return list(_operations("", before, after))


def is_banned(operation: Mapping[str, Any]) -> bool:
    """Return whether clients refuse it, and its whole patch, as JavaScript has these names.

    Source: fast-json-patch, ``banPrototypeModifications``.
    """
    return not {"__proto__", "prototype"}.isdisjoint(operation["path"].split("/"))


def _operations(path: str, before: Any, after: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    if _is_same(before, after):
        return
    if not (isinstance(before, dict) and isinstance(after, dict)):
        yield {"op": "replace", "path": path, "value": after}
        return
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": _below(path, name)}
    for name, value in after.items():
        if name not in before:
            yield {"op": "add", "path": _below(path, name), "value": value}
        else:
            yield from _operations(_below(path, name), before[name], value)


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Return whether two values are the same JSON: ``1`` is not ``true``, as in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
