"""A minted token says who, until when, and in which roles."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from app.main.tokens import mint
from app.settings import Settings

SECRET = "a secret of more than thirty-two bytes"  # noqa: S105
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _claims(token: str) -> dict[str, object]:
    claims: dict[str, object] = jwt.decode(
        token,
        SECRET,
        algorithms=["HS256"],
        options={"verify_exp": False, "verify_aud": False, "verify_iat": False},
    )
    return claims


def test_it_names_the_user_and_holds_for_the_lifetime() -> None:
    token = mint(SECRET, "ada", now=NOW, lifetime=timedelta(hours=1), settings=Settings())

    assert _claims(token) == {
        "sub": "ada",
        "iat": int(NOW.timestamp()),
        "exp": int(NOW.timestamp()) + 3600,
    }


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param("roles", {"roles": ["admin"]}, id="flat"),
        pytest.param(
            "realm.access.roles", {"realm": {"access": {"roles": ["admin"]}}}, id="nested"
        ),
    ],
)
def test_roles_stand_where_the_settings_say(claim: str, expected: dict[str, object]) -> None:
    settings = Settings(jwt_roles_claim=claim)

    token = mint(
        SECRET, "ada", now=NOW, lifetime=timedelta(hours=1), settings=settings, roles=["admin"]
    )

    assert expected.items() <= _claims(token).items()


def test_issuer_and_audience_are_those_that_the_gateway_asks_for() -> None:
    settings = Settings(jwt_issuer="us", jwt_audience="them")

    token = mint(SECRET, "ada", now=NOW, lifetime=timedelta(hours=1), settings=settings)

    assert {"iss": "us", "aud": "them"}.items() <= _claims(token).items()
