"""Keys, tokens and revocations meet in one place; what was looked up is used for seconds only."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.api_key import ApiKey, PresentedKey
from app.domain.errors import StoreUnavailable, TransientFault, Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.http import remembered
from app.http.api_keys import ApiKeys
from app.http.bearers import Bearers
from app.http.remembered import COOL_DOWN_S, FRESH_S, STALE_S, Remembered
from app.protocol.wire import MAX_TOKEN
from app.testing.world import HandClock

pytestmark = pytest.mark.req("IMP-05")

NOW = datetime.now(UTC)
SHOWN = PresentedKey("abc123abc123", "s" * 43)
KEY = ApiKey(
    id=SHOWN.id,
    digest=SHOWN.digest,
    name="nightly",
    user_id="robot",
    roles=frozenset({"ops"}),
    scopes=frozenset({"chat:startRun"}),
    created_at=NOW - timedelta(days=1),
)


class Stores:
    """Keys and revocations, as the database would have them."""

    def __init__(self) -> None:
        self.keys: dict[str, ApiKey] = {KEY.id: KEY}
        self.revoked: dict[str, datetime] = {}
        self.asked: list[str] = []
        self.noted: list[str] = []
        self.away = False

    async def find(self, key_id: str) -> ApiKey | None:
        self.asked.append(key_id)
        await asyncio.sleep(0)
        self._answer()
        return self.keys.get(key_id)

    async def note_use(self, key_id: str) -> None:
        self._answer()
        self.noted.append(key_id)

    async def revocations(self) -> Mapping[str, datetime]:
        self._answer()
        return dict(self.revoked)

    def _answer(self) -> None:
        if self.away:
            raise StoreUnavailable("Postgres is away")


async def judge(token: str) -> Identity:
    """Take ``NAME`` or ``NAME@SECONDS_AGO`` for a token."""
    name, _, ago = token.partition("@")
    if name == "bad":
        raise Unauthenticated("the token does not verify")
    return Identity(name, issued_at=NOW - timedelta(seconds=float(ago)) if ago else None)


class World:
    """Bearers over stores and a clock that stands still."""

    def __init__(self) -> None:
        self.stores, self.clock = Stores(), HandClock()
        keys = ApiKeys(self.stores, clock=self.clock.boot_s)
        self.bearers = Bearers(judge, keys, self.stores.revocations, clock=self.clock.boot_s)

    async def who(self, token: object) -> Identity:
        return await self.bearers.authenticate(None if token is None else str(token))

    async def refusal(self, token: object) -> str:
        with pytest.raises(Unauthenticated) as refused:
            await self.who(token)
        return refused.value.message


@pytest.fixture
def world() -> World:
    return World()


async def test_a_key_is_its_user_with_roles_and_scopes(world: World) -> None:
    expected = Identity("robot", frozenset({"ops"}), frozenset({"chat:startRun"}))

    assert await world.who(SHOWN) == expected


async def test_nothing_is_nobody_and_a_token_goes_to_who_judges_tokens(world: World) -> None:
    assert await world.who(None) == ANONYMOUS
    assert (await world.who("ann")).user_id == "ann"
    assert await world.refusal("bad") == "the token does not verify"
    assert "at most" in await world.refusal("x" * (MAX_TOKEN + 1))
    assert world.stores.asked == []


async def test_a_wrong_secret_and_a_made_up_id_are_refused_in_the_same_words(world: World) -> None:
    wrong = replace(SHOWN, secret="t" * 43)
    made_up = replace(SHOWN, id="zzzzzzzzzzzz")

    assert await world.refusal(wrong) == await world.refusal(made_up)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"revoked_at": NOW}, "revoked"),
        ({"expires_at": NOW - timedelta(seconds=1)}, "expired"),
    ],
)
async def test_only_its_holder_hears_why_a_key_is_good_no_more(
    world: World, change: dict[str, datetime], says: str
) -> None:
    world.stores.keys[KEY.id] = replace(KEY, **change)  # type: ignore[arg-type]  # times alone

    assert says in await world.refusal(SHOWN)
    assert says not in await world.refusal(replace(SHOWN, secret="t" * 43))


async def test_a_revoked_key_is_over_within_seconds(world: World) -> None:
    await world.who(SHOWN)
    world.stores.keys[KEY.id] = replace(KEY, revoked_at=NOW)

    world.clock.now_s += FRESH_S - 0.1
    await world.who(SHOWN)
    world.clock.now_s += 0.2

    assert "revoked" in await world.refusal(SHOWN)


async def test_many_at_once_ask_once_and_so_does_a_made_up_key(world: World) -> None:
    await asyncio.gather(*(world.who(SHOWN) for _ in range(50)))
    for _ in range(10):
        await world.refusal(replace(SHOWN, id="zzzzzzzzzzzz"))

    assert world.stores.asked == [KEY.id, "zzzzzzzzzzzz"]


async def test_use_of_a_key_is_noted_once_an_hour(world: World) -> None:
    for _ in range(20):
        await world.who(SHOWN)
    await world.refusal(replace(SHOWN, secret="t" * 43))

    assert world.stores.noted == [KEY.id]


async def test_tokens_of_a_revoked_user_are_refused_if_they_may_be_old(world: World) -> None:
    world.stores.revoked["ann"] = NOW - timedelta(seconds=60)

    assert "taken back" in await world.refusal("ann@61")
    assert "taken back" in await world.refusal("ann"), "it does not say since when it is good"
    assert (await world.who("ann@59")).user_id == "ann"
    assert (await world.who("bob@61")).user_id == "bob"


async def test_keys_of_a_revoked_user_are_refused_with_his_tokens(world: World) -> None:
    world.stores.revoked["robot"] = NOW

    assert "taken back" in await world.refusal(SHOWN)


async def test_a_revocation_holds_within_seconds(world: World) -> None:
    await world.who("ann@10")
    world.stores.revoked["ann"] = NOW
    world.clock.now_s += FRESH_S + 0.1

    assert "taken back" in await world.refusal("ann@10")


async def test_while_the_store_is_away_what_was_known_goes_on_but_not_for_ever(
    world: World,
) -> None:
    world.stores.revoked["eve"] = NOW
    await world.who(SHOWN)
    world.stores.away = True

    world.clock.now_s += STALE_S - 1
    assert (await world.who(SHOWN)).user_id == "robot"
    assert "taken back" in await world.refusal("eve@1")
    world.clock.now_s += 2
    with pytest.raises(TransientFault):
        await world.who(SHOWN)


async def test_whom_nobody_knows_is_not_let_in_while_the_store_is_away(world: World) -> None:
    world.stores.away = True

    for token in (SHOWN, "ann@1"):
        with pytest.raises(TransientFault):
            await world.who(token)
    world.stores.away = False
    world.clock.now_s += COOL_DOWN_S + 0.1

    assert (await world.who(SHOWN)).user_id == "robot"


async def test_a_store_that_is_away_is_left_alone_for_a_moment(world: World) -> None:
    world.stores.away = True

    for _ in range(20):
        with pytest.raises(TransientFault):
            await world.who(SHOWN)

    assert len(world.stores.asked) == 1


async def test_a_caller_who_leaves_while_it_is_asked_takes_nobody_with_him() -> None:
    gate = asyncio.Event()

    async def look_up(asked: str) -> str:
        await gate.wait()
        return asked

    held: Remembered[str, str] = Remembered(look_up, clock=HandClock().boot_s)
    first, second = (asyncio.create_task(held.get("a")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()

    assert await second == "a"


async def test_a_store_that_hangs_counts_as_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "PATIENCE_S", 0.01)
    hangs = asyncio.Event()
    hangs.set()

    async def look_up(asked: str) -> str:
        await hangs.wait()
        return asked

    clock = HandClock()
    held: Remembered[str, str] = Remembered(look_up, clock=clock.boot_s)
    await held.get("known")
    hangs.clear()
    clock.now_s += FRESH_S + 1

    assert await held.get("known") == "known"
    with pytest.raises(TransientFault):
        await held.get("new")


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MAX_ENTRIES", 3)
    asked: list[int] = []

    async def look_up(number: int) -> int:
        asked.append(number)
        return number

    held: Remembered[int, int] = Remembered(look_up, clock=HandClock().boot_s)
    for number in (1, 2, 3, 4, 1):
        assert await held.get(number) == number

    assert asked == [1, 2, 3, 4, 1]
