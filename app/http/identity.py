"""Who is calling: a bearer token (JWT) checked against the one key that is configured.

The algorithms that a token may name follow from the key, never from the token: a
public key takes no HMAC, a secret takes no signature, nothing takes ``none``.  A
configuration that could not work, or that says two things, refuses to start.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from app.domain.errors import Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.http.jwks import Jwks
from app.protocol.wire import MAX_TOKEN

MIN_SECRET_BYTES = 32
"""RFC 7518, section 3.2: an HMAC key is as long as its hash, at least."""

MIN_RSA_BITS = 2048
MAX_USER_ID = 300
LEEWAY = timedelta(seconds=10)
ROLES_CLAIM = "roles"


class IdentityMisconfigured(ValueError):
    """The settings of identity contradict themselves or cannot work; says which and the fix."""


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """How tokens are checked.  At most one of the first four is set.

    ``callable_name`` is the team's own ``module:function``, which then is handed tokens in this
    module's stead.
    """

    secret: str | None = None
    public_key: str | None = None
    jwks_url: str | None = None
    callable_name: str | None = None
    issuer: str | None = None
    audience: str | None = None
    leeway: timedelta = LEEWAY
    roles_claim: str = ROLES_CLAIM


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A key and the algorithms that it stands for."""

    key: Any
    algorithms: Sequence[str]


class Keys(Protocol):
    """Where the key for a token comes from."""

    async def key_for(self, header: Mapping[str, Any]) -> VerifyingKey:
        """Return the key that a token with this header has to verify against."""
        ...


class Authenticator:
    """Turns tokens into identities."""

    def __init__(
        self, settings: IdentitySettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare the key.  ``clock`` says in seconds how old published keys are.

        Raises:
            IdentityMisconfigured: see there.
        """
        self._settings = settings
        self._keys = _keys_of(settings, clock)

    @property
    def takes_tokens(self) -> bool:
        """Whether anything is configured that judges a token."""
        return self._keys is not None or self._settings.callable_name is not None

    async def authenticate(self, token: str | None) -> Identity:
        """Return who the token speaks for; no token is nobody.

        Raises:
            Unauthenticated: the token is not good; says why, and repeats nothing of it.
            TransientFault: nobody can say just now.
        """
        if token is None:
            return ANONYMOUS
        if self._keys is None:
            raise Unauthenticated("this server takes no tokens: no key is configured")
        if len(token) > MAX_TOKEN:
            raise Unauthenticated(f"a token has at most {MAX_TOKEN} characters")
        try:
            key = await self._keys.key_for(jwt.get_unverified_header(token))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=key.algorithms,
                issuer=self._settings.issuer,
                audience=self._settings.audience,
                leeway=self._settings.leeway,
                options={
                    "require": ["exp", "sub"],
                    "verify_aud": self._settings.audience is not None,
                },
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(_reason(error)) from None
        return self._identity(claims)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        subject = claims["sub"]
        fault = fault_of_user_id(subject)
        if fault is not None:
            raise Unauthenticated(f"the token's subject {fault}")
        return Identity(
            subject,
            roles_in(claims, self._settings.roles_claim),
            issued_at=_moment(claims.get("iat")),
            email=_verified_email(claims),
        )


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    """Return the e-mail of a token, unless the provider says that nobody has verified it."""
    email = claims.get("email")
    is_said = isinstance(email, str) and 0 < len(email) <= MAX_USER_ID and email.isprintable()
    return email if is_said and claims.get("email_verified", True) is True else None


def fault_of_user_id(user_id: object) -> str | None:
    """Return what is wrong with a user's id; ``None``: nothing."""
    if not (isinstance(user_id, str) and 0 < len(user_id) <= MAX_USER_ID):
        return f"has 1 to {MAX_USER_ID} characters"
    return None if user_id.isprintable() else "holds printable characters only"


def _moment(issued: object) -> datetime | None:
    """Return when a token was issued, as far as it says so in a way that can be a moment."""
    try:
        return datetime.fromtimestamp(issued, UTC) if isinstance(issued, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def roles_in(claims: Mapping[str, Any], path: str) -> frozenset[str]:
    """Return the roles that a token names at ``path`` (``a.b`` reaches into an object).

    A list of words, or one string with words; anything else names none.
    """
    found: Any = claims.get(path)
    if found is None:
        found = claims
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return frozenset(found.split())
    if isinstance(found, list):
        return frozenset(role for role in found if isinstance(role, str))
    return frozenset()


@dataclass(frozen=True, slots=True)
class _OneKey:
    key: VerifyingKey

    async def key_for(self, header: Mapping[str, Any]) -> VerifyingKey:
        del header
        return self.key


@dataclass(frozen=True, slots=True)
class _PublishedKeys:
    jwks: Jwks

    async def key_for(self, header: Mapping[str, Any]) -> VerifyingKey:
        key_id = header.get("kid")
        published = await self.jwks.key(key_id if isinstance(key_id, str) else None)
        # The key's own algorithm, or the usual one for its kind; none for a kind we do not take.
        allowed = {published.algorithm_name}.intersection(_algorithms_for(published.key))
        return VerifyingKey(published.key, list(allowed))


def _keys_of(settings: IdentitySettings, clock: Callable[[], float]) -> Keys | None:
    given = {
        "JWT_SECRET": settings.secret,
        "JWT_PUBLIC_KEY": settings.public_key,
        "JWKS_URL": settings.jwks_url,
        "AUTHENTICATE": settings.callable_name,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise IdentityMisconfigured(
            f"{' and '.join(named)} are set; a token is judged in one way: keep one"
        )
    if settings.secret is not None:
        return _OneKey(_shared_secret(settings.secret))
    if settings.public_key is not None:
        return _OneKey(_public_key(settings.public_key))
    if settings.jwks_url is not None:
        return _PublishedKeys(_jwks(settings.jwks_url, clock))
    _refuse_rules_without_a_key(settings)
    return None


def _refuse_rules_without_a_key(settings: IdentitySettings) -> None:
    rules = {
        "JWT_ISSUER": settings.issuer is not None,
        "JWT_AUDIENCE": settings.audience is not None,
        "JWT_LEEWAY": settings.leeway != LEEWAY,
        "JWT_ROLES_CLAIM": settings.roles_claim != ROLES_CLAIM,
    }
    idle = " and ".join(name for name, is_set in rules.items() if is_set)
    if idle and settings.callable_name is not None:
        raise IdentityMisconfigured(
            f"{idle} set, but AUTHENTICATE judges every token by itself: unset one side"
        )
    if idle:
        raise IdentityMisconfigured(
            f"{idle} set, but no key to check a token with: "
            "set JWT_SECRET, JWT_PUBLIC_KEY or JWKS_URL as well"
        )


def _shared_secret(secret: str) -> VerifyingKey:
    if "-----BEGIN" in secret:
        # Whoever has the public half could sign with it, if it were taken for a shared secret.
        raise IdentityMisconfigured("JWT_SECRET is a key in PEM: set it as JWT_PUBLIC_KEY")
    size = len(secret.encode())
    if size < MIN_SECRET_BYTES:
        raise IdentityMisconfigured(
            f"JWT_SECRET has {size} bytes; an HS256 secret has at least {MIN_SECRET_BYTES}"
        )
    return VerifyingKey(secret, ["HS256"])


def _public_key(pem: str) -> VerifyingKey:
    # An environment variable often carries its line breaks as two characters.
    text = pem.replace("\\n", "\n").strip().encode()
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise IdentityMisconfigured(
            "JWT_PUBLIC_KEY is no public key in PEM (-----BEGIN PUBLIC KEY-----)"
        ) from None
    algorithms = _algorithms_for(key)
    if not algorithms:
        raise IdentityMisconfigured(
            "JWT_PUBLIC_KEY: use RSA with at least 2048 bits, P-256, P-384, P-521 or Ed25519"
        )
    return VerifyingKey(key, algorithms)


def _jwks(url: str, clock: Callable[[], float]) -> Jwks:
    try:
        return Jwks(url, clock=clock)
    except jwt.PyJWKClientError as error:
        raise IdentityMisconfigured(f"JWKS_URL: {error}") from None


_BY_CURVE = {"secp256r1": ["ES256"], "secp384r1": ["ES384"], "secp521r1": ["ES512"]}
_RSA = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]


def _algorithms_for(key: object) -> list[str]:
    """Return the algorithms that a public key verifies; none for one that we do not take."""
    match key:
        case RSAPublicKey():
            return _RSA if key.key_size >= MIN_RSA_BITS else []
        case EllipticCurvePublicKey():
            return _BY_CURVE.get(key.curve.name, [])
        case Ed25519PublicKey():
            return ["EdDSA"]
        case _:
            return []


def _reason(error: jwt.PyJWTError) -> str:
    match error:
        case jwt.ExpiredSignatureError():
            return "the token has expired"
        case jwt.ImmatureSignatureError():
            return "the token does not hold yet"
        case jwt.InvalidAudienceError():
            return "the token is meant for another audience"
        case jwt.InvalidIssuerError():
            return "the token comes from another issuer"
        case jwt.MissingRequiredClaimError():
            return f"the token has no {error.claim}"
        case _:
            return "the token does not verify"
