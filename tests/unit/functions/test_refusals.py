"""What a function raises on purpose, by the names that the team imports."""

import pytest

from app import (
    Conflict,
    Forbidden,
    InvalidArgument,
    MutationContext,
    NotFound,
    Unauthenticated,
    mutation,
)
from app.domain.errors import ClientFault
from app.domain.identity import ANONYMOUS
from tests.support.backend import memory_backend
from tests.support.store_world import StoreWorld


@pytest.mark.parametrize(
    "refusal", [Conflict, Forbidden, InvalidArgument, NotFound, Unauthenticated]
)
async def test_a_refusal_reaches_the_caller_as_it_was_raised(
    world: StoreWorld, refusal: type[ClientFault]
) -> None:
    @mutation
    async def refuse(ctx: MutationContext) -> None:
        raise refusal("not like this", {"why": "because"})

    backend = memory_backend(world)
    backend.registry.add("team", [refuse])

    with pytest.raises(refusal) as raised:
        await backend.functions.call("team:refuse", caller=ANONYMOUS)

    assert (raised.value.message, raised.value.data) == ("not like this", {"why": "because"})
