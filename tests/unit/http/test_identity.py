"""A token is checked against the one key that is configured, whatever the token says."""

import base64
import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.http.identity import (
    Authenticator,
    IdentityMisconfigured,
    IdentitySettings,
    roles_in,
)
from app.protocol.wire import MAX_TOKEN

SECRET = "s" * 32
OTHER_SECRET = "o" * 32
RSA = rsa.generate_private_key(65537, 2048)
WEAK_RSA = rsa.generate_private_key(65537, 1024)  # noqa: S505  # refused by the test
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()

BY_SECRET = IdentitySettings(secret=SECRET)
STRICT = replace(BY_SECRET, issuer="https://issuer", audience="ropewalk")


def public(key: Any) -> str:  # noqa: ANN401  # any private key
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return str(pem.decode())


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def claims(**more: object) -> dict[str, object]:
    return {"sub": "ann", "exp": in_seconds(3600), **more}


def signed(
    given: Mapping[str, object],
    key: Any = SECRET,  # noqa: ANN401  # any private key
    algorithm: str = "HS256",
) -> str:
    return jwt.encode(dict(given), key, algorithm=algorithm)


async def test_no_token_is_nobody() -> None:
    assert await Authenticator(BY_SECRET).authenticate(None) == ANONYMOUS


async def test_a_good_token_is_its_subject_with_its_roles() -> None:
    token = signed(claims(roles=["admin", "ops"]))

    identity = await Authenticator(BY_SECRET).authenticate(token)

    assert identity == Identity("ann", frozenset({"admin", "ops"}))
    assert identity.is_admin


@pytest.mark.parametrize(
    ("settings", "token", "says"),
    [
        pytest.param(BY_SECRET, "", "verify", id="empty"),
        pytest.param(BY_SECRET, "not.a.token", "verify", id="garbage"),
        pytest.param(BY_SECRET, "x" * (MAX_TOKEN + 1), "at most", id="too-long"),
        pytest.param(BY_SECRET, signed(claims(), OTHER_SECRET), "verify", id="another-secret"),
        pytest.param(BY_SECRET, signed(claims(), SECRET * 2, "HS512"), "verify", id="hs512"),
        pytest.param(BY_SECRET, signed(claims(), "", "none"), "verify", id="none"),
        pytest.param(BY_SECRET, signed(claims(), RSA, "RS256"), "verify", id="rsa-on-a-secret"),
        pytest.param(BY_SECRET, signed({"sub": "ann"}), "no exp", id="lives-for-ever"),
        pytest.param(BY_SECRET, signed({"exp": in_seconds(3600)}), "no sub", id="no-subject"),
        pytest.param(BY_SECRET, signed(claims(sub="")), "subject", id="empty-subject"),
        pytest.param(BY_SECRET, signed(claims(sub="a\nb")), "printable", id="line-in-subject"),
        pytest.param(BY_SECRET, signed(claims(exp=in_seconds(-11))), "expired", id="expired"),
        pytest.param(BY_SECRET, signed(claims(nbf=in_seconds(3600))), "not hold yet", id="early"),
        pytest.param(STRICT, signed(claims(iss="https://issuer")), "no aud", id="no-audience"),
        pytest.param(
            STRICT, signed(claims(aud="x", iss="https://issuer")), "audience", id="audience"
        ),
        pytest.param(STRICT, signed(claims(aud="ropewalk", iss="x")), "issuer", id="issuer"),
        pytest.param(STRICT, signed(claims(aud="ropewalk")), "no iss", id="no-issuer"),
        pytest.param(IdentitySettings(), signed(claims()), "takes no tokens", id="no-key"),
    ],
)
async def test_a_bad_token_is_refused_with_its_reason(
    settings: IdentitySettings, token: str, says: str
) -> None:
    with pytest.raises(Unauthenticated, match=says) as refused:
        await Authenticator(settings).authenticate(token)

    assert not token or token not in refused.value.message


async def test_a_token_meets_every_rule_that_is_set() -> None:
    token = signed(claims(aud=["other", "ropewalk"], iss="https://issuer"))

    assert (await Authenticator(STRICT).authenticate(token)).user_id == "ann"


FAMILIES: dict[str, tuple[Any, str]] = {
    "rsa": (RSA, "RS256"),
    "p256": (P256, "ES256"),
    "p384": (P384, "ES384"),
    "ed25519": (EDWARDS, "EdDSA"),
}


@pytest.mark.req("IMP-05")
@pytest.mark.parametrize("configured", [*FAMILIES, "secret"])
async def test_a_key_takes_the_tokens_of_its_own_family_and_no_others(configured: str) -> None:
    settings = BY_SECRET
    if configured != "secret":
        settings = IdentitySettings(public_key=public(FAMILIES[configured][0]))
    tokens = {name: signed(claims(), key, word) for name, (key, word) in FAMILIES.items()}
    tokens |= {"secret": signed(claims()), "none": signed(claims(), "", "none")}
    authenticator = Authenticator(settings)

    taken = []
    for name, token in tokens.items():
        with suppress(Unauthenticated):
            await authenticator.authenticate(token)
            taken.append(name)

    assert taken == [configured]


@pytest.mark.req("IMP-05")
async def test_a_token_says_since_when_it_is_good_in_whichever_way_a_number_may() -> None:
    authenticator = Authenticator(BY_SECRET)
    now = datetime.now(UTC).replace(microsecond=0)

    said = await authenticator.authenticate(signed(claims(iat=now)))
    silent = await authenticator.authenticate(signed(claims()))

    assert said.issued_at == now
    assert silent.issued_at is None
    assert said == silent, "since when is no part of who somebody is"


@pytest.mark.req("IMP-05")
@pytest.mark.parametrize("early_s", [9, 11])
async def test_the_leeway_ends_where_it_says(early_s: int) -> None:
    """Ten seconds of leeway: nine are let pass and eleven are not, on both sides of a life."""
    authenticator = Authenticator(BY_SECRET)
    tokens = [
        signed(claims(exp=in_seconds(-early_s))),
        signed(claims(nbf=in_seconds(early_s))),
    ]

    passed = 0
    for token in tokens:
        with suppress(Unauthenticated):
            await authenticator.authenticate(token)
            passed += 1

    assert passed == (2 if early_s < 10 else 0)


async def test_clocks_may_differ_by_the_leeway_and_no_more() -> None:
    expired = signed(claims(exp=in_seconds(-30)))
    lenient = replace(BY_SECRET, leeway=timedelta(minutes=1))

    assert (await Authenticator(lenient).authenticate(expired)).user_id == "ann"
    with pytest.raises(Unauthenticated):
        await Authenticator(BY_SECRET).authenticate(expired)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        pytest.param(RSA, "RS256", id="rsa"),
        pytest.param(RSA, "PS384", id="rsa-pss"),
        pytest.param(P256, "ES256", id="p256"),
        pytest.param(P384, "ES384", id="p384"),
        pytest.param(EDWARDS, "EdDSA", id="ed25519"),
    ],
)
async def test_a_public_key_verifies_the_algorithms_of_its_kind(
    key: Any,  # noqa: ANN401  # any private key
    algorithm: str,
) -> None:
    authenticator = Authenticator(IdentitySettings(public_key=public(key)))

    identity = await authenticator.authenticate(signed(claims(), key, algorithm))

    assert identity.user_id == "ann"


@pytest.mark.parametrize("key", [RSA, P256, EDWARDS])
async def test_a_public_key_is_never_taken_for_a_shared_secret(
    key: Any,  # noqa: ANN401  # any private key
) -> None:
    pem = public(key)
    head, body = ({"alg": "HS256", "typ": "JWT"}, {"sub": "eve", "exp": 9_999_999_999})
    unsigned = b".".join(
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in (head, body)
    )
    signer = jwt.get_algorithm_by_name("HS256")
    mac = signer.sign(unsigned, pem.encode())
    forged = b".".join((unsigned, base64.urlsafe_b64encode(mac).rstrip(b"="))).decode()

    with pytest.raises(Unauthenticated):
        await Authenticator(IdentitySettings(public_key=pem)).authenticate(forged)


async def test_a_key_may_come_from_an_environment_that_has_no_line_breaks() -> None:
    settings = IdentitySettings(public_key=public(P256).replace("\n", "\\n"))

    assert (await Authenticator(settings).authenticate(signed(claims(), P256, "ES256"))).user_id


@given(st.text(max_size=200))
async def test_no_text_breaks_the_check_of_a_token(text: str) -> None:
    with pytest.raises(Unauthenticated):
        await Authenticator(BY_SECRET).authenticate(text)


WAYS: dict[str, Any] = {
    "secret": SECRET,
    "public_key": public(RSA),
    "jwks_url": "https://issuer/keys",
    "callable_name": "agents.auth:judge",
}
RULES: list[dict[str, Any]] = [
    {"issuer": "https://x"},
    {"audience": "x"},
    {"leeway": timedelta(0)},
    {"roles_claim": "r"},
]


@pytest.mark.parametrize("way", WAYS)
def test_each_way_alone_is_enough(way: str) -> None:
    assert Authenticator(replace(IdentitySettings(), **{way: WAYS[way]})).takes_tokens


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param(IdentitySettings(secret=SECRET[1:]), "at least 32", id="short-secret"),
        pytest.param(IdentitySettings(secret=""), "at least 32", id="empty-secret"),
        pytest.param(
            IdentitySettings(secret=SECRET, jwks_url="https://x"), "one way", id="two-keys"
        ),
        pytest.param(IdentitySettings(secret=public(RSA)), "JWT_PUBLIC_KEY", id="pem-as-secret"),
        pytest.param(IdentitySettings(public_key=SECRET), "no public key", id="secret-as-pem"),
        pytest.param(IdentitySettings(public_key="key"), "no public key", id="no-pem"),
        pytest.param(IdentitySettings(public_key=public(WEAK_RSA)), "2048", id="weak-rsa"),
        pytest.param(IdentitySettings(jwks_url="file:///etc/keys"), "JWKS_URL", id="no-web"),
        pytest.param(IdentitySettings(issuer="https://x"), "no key to check", id="only-an-issuer"),
        pytest.param(IdentitySettings(audience="x"), "no key to check", id="only-an-audience"),
        pytest.param(
            IdentitySettings(leeway=timedelta(0)), "JWT_LEEWAY.*no key", id="only-a-leeway"
        ),
        pytest.param(
            IdentitySettings(roles_claim="r"), "JWT_ROLES_CLAIM.*no key", id="only-a-roles-claim"
        ),
        *(
            pytest.param(
                replace(IdentitySettings(callable_name="agents.auth:judge"), **rule),
                "by itself",
                id=f"a-callable-and-{next(iter(rule))}",
            )
            for rule in RULES
        ),
        *(
            pytest.param(
                replace(IdentitySettings(), **dict(pair)), "one way", id="-and-".join(dict(pair))
            )
            for pair in itertools.combinations(WAYS.items(), 2)
        ),
        pytest.param(replace(IdentitySettings(), **WAYS), "one way", id="everything"),
    ],
)
@pytest.mark.req("IMP-05")
def test_a_half_configured_identity_refuses_to_start(settings: IdentitySettings, says: str) -> None:
    with pytest.raises(IdentityMisconfigured, match=says) as refused:
        Authenticator(settings)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("found", "path", "roles"),
    [
        ({"roles": ["a", "b"]}, "roles", {"a", "b"}),
        ({"roles": "a b"}, "roles", {"a", "b"}),
        ({"realm": {"roles": ["a"]}}, "realm.roles", {"a"}),
        ({"https://x.example/roles": ["a"]}, "https://x.example/roles", {"a"}),
        ({"roles": ["a", 1, None]}, "roles", {"a"}),
        ({"roles": {"a": True}}, "roles", set()),
        ({"realm": "x"}, "realm.roles", set()),
        ({}, "roles", set()),
    ],
)
def test_roles_are_words_at_a_path(found: dict[str, Any], path: str, roles: set[str]) -> None:
    assert roles_in(found, path) == roles
