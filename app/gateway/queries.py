"""The queries that can be subscribed to, and their arguments, checked.

Two subscriptions with equal queries ask for the same thing, so a query is a value: feeds
group by it.  Queries about a thread are served from its feed, any other one by asking the
function of that name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from app.domain.errors import InvalidArgument, NotFound
from app.domain.storable import Json
from app.protocol.admin import ADMIN_QUERIES
from app.protocol.calls import (
    AGENT_APPROVALS,
    AGENT_MESSAGES,
    AGENT_STATE,
    AGENT_THREAD,
    agent_messages_args,
    agent_state_args,
    agent_thread_args,
)
from app.protocol.wire import first_fault

Args = TypeVar("Args", bound=BaseModel)

_BUILT_IN = AGENT_THREAD.partition(":")[0]
_ASKED = frozenset({AGENT_APPROVALS}) | ADMIN_QUERIES
"""Built-in queries that are about more than one thread, so no feed serves them."""


@dataclass(frozen=True, slots=True)
class MessagesQuery:
    """The newest ``limit`` messages of a thread, then every change; with tokens if ``stream``."""

    key: str
    limit: int
    stream: bool

    empty: ClassVar[bytes] = b"[]"


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """The thread itself."""

    key: str

    empty: ClassVar[bytes] = b"null"


@dataclass(frozen=True, slots=True)
class StateQuery:
    """The synced state of a thread."""

    key: str

    empty: ClassVar[bytes] = b"null"


ValueQuery: TypeAlias = ThreadQuery | StateQuery
"""Queries that are no list: they get a new snapshot when their value is another one."""

ThreadQueries: TypeAlias = MessagesQuery | ValueQuery
"""``empty`` is the answer for a thread that is missing, or somebody else's."""


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """A query of the team's.  ``arguments`` is JSON with its names in order."""

    reference: str
    arguments: str


Query: TypeAlias = ThreadQueries | FunctionQuery


def parse_query(reference: str, args: Mapping[str, Json]) -> Query:
    """Return the query that a client asks for.

    Raises:
        NotFound: it is named like none of the built-in functions.
        InvalidArgument: the arguments of a built-in query do not fit; says which.
    """
    module, _, name = reference.partition(":")
    match f"{module}:{to_camel(name)}":
        case str(found) if found == AGENT_MESSAGES:
            asked = _checked(agent_messages_args, args)
            if asked.before is not None:
                raise InvalidArgument("before: pages are called for, not subscribed to")
            return MessagesQuery(asked.key, asked.limit, asked.stream)
        case str(found) if found == AGENT_THREAD:
            return ThreadQuery(_checked(agent_thread_args, args).key)
        case str(found) if found == AGENT_STATE:
            return StateQuery(_checked(agent_state_args, args).key)
        case found if module == _BUILT_IN and found not in _ASKED:
            raise NotFound(f"nothing called {reference!r} can be subscribed to")
        case found:
            return FunctionQuery(found, json.dumps(args, sort_keys=True))


def _checked(model: TypeAdapter[Args], args: Mapping[str, Json]) -> Args:
    try:
        return model.validate_python(args, strict=True)
    except ValidationError as error:
        raise InvalidArgument(first_fault(error)) from None
