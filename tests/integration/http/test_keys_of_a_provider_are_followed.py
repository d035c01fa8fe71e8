"""Keys that an identity provider publishes are fetched, kept, and followed when they rotate."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from app.domain.errors import TransientFault, Unauthenticated
from app.http import jwks
from app.http.identity import Authenticator, IdentitySettings
from app.http.jwks import COOL_DOWN_S, FRESH_S, REST_S, STALE_S
from app.testing.world import HandClock

RSA = rsa.generate_private_key(65537, 2048)
P256 = ec.generate_private_key(ec.SECP256R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()
KINDS = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}

pytestmark = pytest.mark.req("IMP-05")


class Provider(BaseHTTPRequestHandler):
    """Publishes ``keys``; answers 500 while ``away``."""

    keys: ClassVar[list[dict[str, Any]]] = []
    asked: ClassVar[int] = 0
    away: ClassVar[bool] = False
    raw: ClassVar[bytes | None] = None
    drips: ClassVar[threading.Event | None] = None

    def do_GET(self) -> None:
        """Answer with the key set."""
        type(self).asked += 1
        if self.drips is not None or self.raw is not None:
            self._answer_oddly()
            return
        self.send_response(500 if self.away else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"keys": self.keys}).encode())

    def _answer_oddly(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.raw or b"")
        while self.drips is not None and not self.drips.wait(0.05):
            self.wfile.write(b" ")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[tuple[type[Provider], str]]:
    """A provider of its own, and its address."""
    handler = type("OneProvider", (Provider,), {"keys": [], "asked": 0, "away": False})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_address[1]}/keys"
    server.shutdown()
    server.server_close()
    thread.join()


def published(key: Any, key_id: str) -> dict[str, Any]:  # noqa: ANN401  # any private key
    kinds = (kind for family, kind in KINDS.items() if isinstance(key, family))
    kind: Any = next(kinds, OKPAlgorithm)
    return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig"}


def signed(key: Any, key_id: str | None, algorithm: str) -> str:  # noqa: ANN401
    claims = {"sub": "ann", "exp": datetime.now(UTC) + timedelta(hours=1)}
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers)


def an_authenticator(url: str) -> tuple[Authenticator, HandClock]:
    clock = HandClock()
    return Authenticator(IdentitySettings(jwks_url=url), clock=clock.boot_s), clock


async def test_keys_are_fetched_once_and_kept(provider: tuple[type[Provider], str]) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r"), published(P256, "e")]
    authenticator, _ = an_authenticator(url)
    tokens = [signed(RSA, "r", "RS256"), signed(P256, "e", "ES256")] * 10

    found = await asyncio.gather(*map(authenticator.authenticate, tokens))

    assert {identity.user_id for identity in found} == {"ann"}
    assert handler.asked == 1


async def test_a_rotated_key_is_found_after_the_cool_down(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "old")]
    authenticator, clock = an_authenticator(url)
    await authenticator.authenticate(signed(RSA, "old", "RS256"))
    handler.keys = [published(P256, "new")]
    clock.now_s += COOL_DOWN_S + 1

    assert (await authenticator.authenticate(signed(P256, "new", "ES256"))).user_id == "ann"
    with pytest.raises(Unauthenticated):
        await authenticator.authenticate(signed(RSA, "old", "RS256"))


async def test_a_rotated_key_is_fetched_once_for_all_who_come_with_it(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "old")]
    authenticator, clock = an_authenticator(url)
    await authenticator.authenticate(signed(RSA, "old", "RS256"))
    handler.keys = [published(RSA, "old"), published(P256, "new")]
    clock.now_s += COOL_DOWN_S + 1

    found = await asyncio.gather(
        *(authenticator.authenticate(signed(P256, "new", "ES256")) for _ in range(50)),
        *(authenticator.authenticate(signed(RSA, "old", "RS256")) for _ in range(50)),
    )

    assert {identity.user_id for identity in found} == {"ann"}
    assert handler.asked == 2


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS256"), (P256, "ES256"), (EDWARDS, "EdDSA")]
)
async def test_a_published_key_takes_the_tokens_of_its_own_kind(
    provider: tuple[type[Provider], str],
    key: Any,  # noqa: ANN401  # any private key
    algorithm: str,
) -> None:
    handler, url = provider
    handler.keys = [{**published(key, "k"), "alg": algorithm}]
    authenticator, _ = an_authenticator(url)

    assert (await authenticator.authenticate(signed(key, "k", algorithm))).user_id == "ann"
    for other, word in ((RSA, "RS512"), (P256, "ES256"), (EDWARDS, "EdDSA"), ("s" * 32, "HS256")):
        if word != algorithm:
            with pytest.raises(Unauthenticated):
                await authenticator.authenticate(signed(other, "k", word))


async def test_made_up_key_ids_do_not_turn_us_against_the_provider(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, _ = an_authenticator(url)

    for number in range(50):
        with pytest.raises(Unauthenticated):
            await authenticator.authenticate(signed(RSA, f"made-up-{number}", "RS256"))

    assert handler.asked == 1


async def test_a_withdrawn_key_works_no_longer_than_the_set_is_fresh(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    await authenticator.authenticate(token)
    handler.keys = [published(P256, "e")]
    clock.now_s += FRESH_S + 1

    with pytest.raises(Unauthenticated):
        await authenticator.authenticate(token)


async def test_known_keys_go_on_while_the_provider_is_away_but_not_for_ever(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    await authenticator.authenticate(token)
    handler.away = True

    clock.now_s += STALE_S - 1
    assert (await authenticator.authenticate(token)).user_id == "ann"
    clock.now_s += 2
    with pytest.raises(TransientFault):
        await authenticator.authenticate(token)


async def test_a_provider_that_fails_is_left_alone_while_there_are_keys(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    await authenticator.authenticate(token)
    handler.away = True
    clock.now_s += FRESH_S + 1

    for _ in range(60):
        await authenticator.authenticate(token)
        clock.now_s += 1

    assert handler.asked == 1 + 60 / REST_S


async def test_a_provider_that_was_away_from_the_start_is_asked_again(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys, handler.away = [published(RSA, "r")], True
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    with pytest.raises(TransientFault):
        await authenticator.authenticate(token)
    handler.away = False
    clock.now_s += COOL_DOWN_S + 1

    assert (await authenticator.authenticate(token)).user_id == "ann"


async def test_a_token_without_a_key_id_is_tried_with_the_only_key(
    provider: tuple[type[Provider], str],
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, None, "RS256")

    assert (await authenticator.authenticate(token)).user_id == "ann"
    handler.keys = [published(RSA, "r"), published(P256, "e")]
    clock.now_s += FRESH_S + 1
    with pytest.raises(Unauthenticated):
        await authenticator.authenticate(token)


async def test_a_published_secret_is_no_key(provider: tuple[type[Provider], str]) -> None:
    handler, url = provider
    secret = "s" * 32
    encoded = base64.urlsafe_b64encode(secret.encode()).decode().rstrip("=")
    handler.keys = [{"kty": "oct", "k": encoded, "kid": "s"}]
    authenticator, _ = an_authenticator(url)

    with pytest.raises(Unauthenticated):
        await authenticator.authenticate(signed(secret, "s", "HS256"))


async def test_a_provider_that_never_ends_its_answer_is_away(
    provider: tuple[type[Provider], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks, "FETCH_TIMEOUT_S", 0.3)
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    await authenticator.authenticate(token)

    handler.drips = threading.Event()
    clock.now_s += FRESH_S + 1
    try:
        async with asyncio.timeout(5):
            identity = await authenticator.authenticate(token)
    finally:
        handler.drips.set()

    assert identity.user_id == "ann"


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b'{"keys":[1]}', b'{"keys":[{"kty":"oct","k":"AQAB","use":[]}]}', b"[" * 100_000],
)
async def test_an_answer_that_is_no_key_set_is_none(
    provider: tuple[type[Provider], str], raw: bytes
) -> None:
    handler, url = provider
    handler.keys = [published(RSA, "r")]
    authenticator, clock = an_authenticator(url)
    token = signed(RSA, "r", "RS256")
    await authenticator.authenticate(token)

    handler.raw = raw
    clock.now_s += FRESH_S + 1

    assert (await authenticator.authenticate(token)).user_id == "ann"
