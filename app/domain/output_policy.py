"""The form of an answer in a run's policy: what its start named, or else what its agent declares.

It is fixed where the run is asked for, and stored with it: whichever worker goes on, of whichever
release, holds the model to it.  A run that was asked for before its agent declared a form has none.

Whose form it is stands beside it: another answer to the same question is asked for as the agent
declares by then, and only the agent's own form is read as the agent's type.
"""

from collections.abc import Mapping
from typing import Final

from app.domain.storable import Json

SCHEMA: Final = "outputSchema"
FROM_AGENT: Final = "outputFromAgent"


def form_policy(
    own: Mapping[str, Json] | None, declared: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return what a policy says of the form; nothing if there is none.

    Args:
        own: what the start names; it wins.
        declared: what the agent does.
    """
    if own is not None:
        return {SCHEMA: dict(own)}
    return {} if declared is None else {SCHEMA: dict(declared), FROM_AGENT: True}


def schema_of(policy: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the form that a run's answer has to have."""
    schema = policy.get(SCHEMA)
    return schema if isinstance(schema, dict) else None


def own_schema_of(policy: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the form that a run's start named itself."""
    return None if is_from_agent(policy) else schema_of(policy)


def is_from_agent(policy: Mapping[str, Json]) -> bool:
    """Whether the form is the one that the agent declared when the run was asked for."""
    return policy.get(FROM_AGENT) is True
