"""What a run's answer has to look like, as whoever started it says: a JSON Schema.

It comes from outside and is checked in workers that serve everybody.  So a schema is refused at
the start if it is no schema, leads out of itself, or never ends; nothing in it is ever fetched;
no pattern in it can take longer than its text is long (no backtracking, no look-around); and a
check that is too much work is given up, at the same place wherever it is made.

Schema and answer are checked as they will be stored: JSON has no infinity, Postgres no NUL.

A model can be held to objects alone, so any other answer is asked for as the one field of an
object, and taken out of it again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import unquote

import jsonschema
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend, validator_for
from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, ValidationError, core_schema
from referencing import Registry

from app.domain.errors import InvalidArgument
from app.domain.storable import Json, decode, encode

MAX_BYTES: Final = 32 * 1024
"""Of a schema."""

TOOL: Final = "submit_structured_output"
"""By which a model answers, where its profile says so."""

FIELD: Final = "response"
"""Of the object, where the answer itself is none."""

_MOST_WORK: Final = 50_000
"""In one check, in keywords or what takes as long: a list of options, checked for each value of a
long list, would keep a worker from everything else for minutes."""

_IN_REHEARSAL: Final = 10_000
"""The same, in a check of next to nothing."""

_MOST_STATES: Final = 20_000
"""Of all patterns of a schema together, as they are counted here: they are built at the start."""

_STATES_OF_A_CLASS: Final = 100
_TOKENS: Final = re.compile(
    r"""(?P<class> \\[wWdDsS] | \\[pP](?:\{[^}]*\}|.) | \. | \[\^(?:\\.|[^\]\\])*\]
                 | \[(?=[^\]]*\\[wWdDsSpP])(?:\\.|[^\]\\])*\])
      | \\. | \[(?:\\.|[^\]\\])*\] | \{(?P<least>\d+)(?:,(?P<most>\d*))?\} | .""",
    re.DOTALL | re.VERBOSE,
)
"""What a pattern consists of; a class is of all that Unicode has."""

_SHOWN: Final = 300
_OF_SCHEMAS: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OF_DATA: Final = frozenset({"const", "enum", "default", "examples"})
_REFUSED: Final = frozenset({"$dynamicRef", "$recursiveRef", "$id", "$anchor", "patternProperties"})
_FENCED: Final = re.compile(r"\s*```(?:\w+)?\s*\n(.*)\n\s*```\s*", re.DOTALL)


class OutputRefused(Exception):
    """An answer does not fit; ``wrong`` says where and why."""

    def __init__(self, wrong: str) -> None:
        super().__init__(wrong)
        self.wrong = wrong


@dataclass(frozen=True, slots=True)
class OutputShape:
    """A schema that was checked.

    Attributes:
        shown: what a model is asked for: always an object.
        is_wrapped: whether the answer is that object's one field.
    """

    shown: dict[str, Any]
    is_wrapped: bool
    _checker: "_Checker"

    @classmethod
    def of(cls, schema: Mapping[str, Json]) -> "OutputShape":
        """Return the shape that a schema describes.

        Raises:
            InvalidArgument: it cannot be used; says what was expected.
        """
        try:
            return _shape_of(_text_of(schema))
        except RecursionError:
            raise _unfit("it nests too deep, or refers to itself without an end") from None

    def read(self, sent: str | Mapping[str, Any] | None) -> Json:
        """Return the answer in what a model sent, as text or as an object.

        Raises:
            OutputRefused: it does not fit.
        """
        if sent is None or isinstance(sent, str):
            fenced = _FENCED.fullmatch(sent or "")
            try:
                found = json.loads(fenced[1] if fenced else sent or "", parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise OutputRefused(f"it is no JSON: {_short(str(error))}") from error
        else:
            found = dict(sent)
        stored: Any = self._checker.checked(found)
        return cast(Json, stored[FIELD] if self.is_wrapped else stored)


def _text_of(schema: Mapping[str, Json]) -> str:
    """Return a schema as it is stored, if that may be."""
    try:
        text = encode(dict(schema))
    except TypeError as error:
        raise _unfit(f"it is no JSON: {error}") from None
    size = len(text.encode())
    if size > MAX_BYTES:
        raise _unfit(f"it has at most {MAX_BYTES // 1024} KB of JSON, got {size} bytes")
    return text


@lru_cache(maxsize=64)
def _shape_of(text: str) -> OutputShape:
    """Check a schema.  It takes milliseconds, in which a worker's other runs wait: once will do."""
    stored = cast("dict[str, Json]", decode(text))
    is_wrapped = stored.get("type") != "object"
    plain = {name: each for name, each in stored.items() if name != "$schema"}
    shown = _wrapped(plain) if is_wrapped else plain
    found = list(_schemas_in(shown))
    _require_small_patterns(found)
    for each in found:
        _require_plain(each, shown, is_wrapped=is_wrapped)
    checker = _Checker(shown, stored.get("$schema"))
    checker.rehearse()
    return OutputShape(shown, is_wrapped, checker)


def require_object(schema: object) -> dict[str, Json]:
    """Return a schema as it may come over the wire: of an object.

    Raises:
        InvalidArgument: it is none.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise _unfit('expected a JSON Schema with "type": "object" at its top')
    return schema


class _Checker:
    """A validator that follows no reference outwards, and does not work for ever."""

    def __init__(self, schema: dict[str, Any], dialect: object) -> None:
        default = jsonschema.Draft202012Validator
        named = {"$schema": dialect} if isinstance(dialect, str) else {}
        kind = validator_for(named, default=default)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            where = "/".join(map(str, error.absolute_path))
            raise _unfit(
                f"it is no JSON Schema{where and f', at {where}'}: {error.message}"
            ) from None
        self._left = 0
        self._of_an_error = 1
        keywords = {**kind.VALIDATORS, "pattern": _pattern}
        limited = extend(kind, {name: self._limited(name, keywords[name]) for name in keywords})
        self._validator = limited(schema, registry=Registry())

    def rehearse(self) -> None:
        """Check some value: whatever never ends shows now.

        Raises:
            RecursionError: it does not end.
        """
        nothing: dict[str, Any] = {}
        for value in (nothing, {FIELD: nothing}):
            self._left = _IN_REHEARSAL
            best_match(self._validator.iter_errors(value))

    def checked(self, found: object) -> Json:
        """Return a value as it is stored, if that fits.

        Raises:
            OutputRefused: it does not.
        """
        self._left = _MOST_WORK
        try:
            text = encode(found)
            # What does not fit is quoted in what is said of it, however long it is.
            self._of_an_error = 1 + len(text) // 2_000
            stored = decode(text)
            problem = best_match(self._validator.iter_errors(stored))
        except RecursionError:
            raise OutputRefused("it nests too deep, or is too long, to be checked") from None
        except OverflowError:
            raise OutputRefused("a number in it is too large") from None
        if problem is not None:
            where = ".".join(map(str, problem.absolute_path))
            raise OutputRefused(
                f"{where}: {_short(problem.message)}" if where else _short(problem.message)
            )
        return stored

    def _limited(self, name: str, check: Any) -> Any:  # noqa: ANN401  # as the library has it
        """Return the check of a keyword that counts its work, and gives up when it is too much."""

        def limited(validator: Any, said: Any, found: Any, schema: Any) -> Iterator[Any]:  # noqa: ANN401
            self._work(_work_of(name, said, found))
            for error in check(validator, said, found, schema) or ():
                self._work(self._of_an_error)
                yield error

        return limited

    def _work(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise RecursionError


def _work_of(name: str, said: object, found: object) -> int:
    """Return about how many simple keywords this one is as much work as."""
    match said:
        case True if name == "uniqueItems" and isinstance(found, list):
            return 1 + len(found) ** 2 // 50  # each is compared with each
        case str() if name == "pattern" and isinstance(found, str):
            return 1 + _states_of(said) * len(found) // 1_000_000
        case list():
            return 1 + len(said)
        case dict():
            return 1 + len(said) // 10
        case _:
            return 1


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the schema's answer as its field; what is defined stays on top."""
    above = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    inner = {name: each for name, each in schema.items() if name not in above}
    return {
        "type": "object",
        "properties": {FIELD: inner},
        "required": [FIELD],
        "additionalProperties": False,
        **above,
    }


def _schemas_in(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return a schema and those in it, without the data in them."""
    left: list[Any] = [schema]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            yield each
            for name, value in each.items():
                if name in _OF_SCHEMAS and isinstance(value, dict):
                    left += value.values()
                elif name not in _OF_DATA:
                    left.append(value)


def _require_plain(each: Mapping[str, Any], whole: Mapping[str, Any], *, is_wrapped: bool) -> None:
    """Refuse what cannot be checked here, or leads elsewhere."""
    for name in (*_REFUSED, "$schema"):
        if name in each and (each is not whole or name != "$id"):
            raise _unfit(f"{name} cannot be used here")
    ref = each.get("$ref")
    if isinstance(ref, str) and ((ref == "#" and is_wrapped) or not _leads_somewhere(ref, whole)):
        raise _unfit(f'$ref: expected "#/..." to something in the schema, got {_short(ref)!r}')
    pattern = each.get("pattern")
    if isinstance(pattern, str):
        try:
            _regex(pattern)
        except PatternError:
            raise _unfit(
                "pattern: expected a regular expression without look-around and back references,"
                f" got {_short(pattern)!r}"
            ) from None


def _require_small_patterns(schemas: Sequence[Mapping[str, Any]]) -> None:
    """Refuse patterns that take long to build: repetitions of repetitions, or very many."""
    patterns = {str(each["pattern"]) for each in schemas if "pattern" in each}
    if sum(map(_states_of, patterns)) > _MOST_STATES:
        raise _unfit("pattern: expected fewer repetitions, they are counted out one by one")


@lru_cache(maxsize=256)
def _states_of(pattern: str) -> int:
    """Return about how many states a regular expression has: what is repeated counts each time."""
    groups, last = [0], 0
    for token in _TOKENS.finditer(pattern):
        if token[0] == "(":
            groups.append(0)
            continue
        if token["least"] is not None:
            times = max(int(token["least"]), int(token["most"] or 0), 1)
            last, added = last * times, last * (times - 1)
        elif token[0] == ")" and len(groups) > 1:
            last = added = groups.pop()
        else:
            last = added = _STATES_OF_A_CLASS if token["class"] else 1
        groups[-1] += added
    return sum(groups)


def _leads_somewhere(ref: str, whole: Mapping[str, Any]) -> bool:
    if ref != "#" and not ref.startswith("#/"):
        return False
    found: Any = whole
    for step in unquote(ref).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            return False
    return isinstance(found, dict | bool)


@lru_cache(maxsize=256)
def _regex(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ANN401
    """Check a pattern in linear time."""
    del schema
    if validator.is_type(instance, "string"):
        try:
            _regex(pattern).validate_python(instance)
        except ValidationError:
            yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _no_number(word: str) -> Json:
    raise ValueError(f"{word} is no JSON")


def _unfit(why: str) -> InvalidArgument:
    return InvalidArgument(f"outputSchema: {_short(why)}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
