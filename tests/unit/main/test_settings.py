"""What the environment says is read once, checked, and kept secret where it is."""

import pytest

from app.main.cli.environment import read_settings, require_stores
from app.main.refusal import Refusal
from app.main.webhooks import check_webhook
from app.settings import Settings


def test_a_variable_sets_the_field_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER_SLOTS", "7")
    monkeypatch.setenv("STREAM_TOKENS", "off")

    settings = read_settings()

    assert (settings.worker_slots, settings.stream_tokens) == (7, False)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "")

    assert read_settings().port == 8000


def test_the_command_line_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "1")

    assert read_settings(port=2, host=None).port == 2


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JWT_SECRET", "confidential")
    monkeypatch.setenv("DATABASE_URL", "postgresql://somebody:confidential@host/name")
    monkeypatch.setenv("REDIS_URL", "redis://:confidential@host/0")

    assert "confidential" not in repr(read_settings())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "70000"),
        ("WORKER_SLOTS", "0"),
        ("LOG_FORMAT", "xml"),
        ("REDIS_NAMESPACE", "a b"),
        ("DATABASE_URL", "mysql://host/name"),
        ("REDIS_URL", "host:6379"),
        ("JWT_LEEWAY", "-1"),
        ("CALLS_PER_SECOND", "-1"),
        ("CALLS_BURST", "0"),
        ("CALLS_BURST", "-5"),
        ("TRUSTED_PROXIES", "-1"),
        ("ALLOWED_ORIGINS", "*"),
        ("ALLOWED_ORIGINS", "chat.example"),
        ("ALLOWED_ORIGINS", "https://chat.example/page"),
        ("ALLOWED_ORIGINS", "https://a.example https://b.example"),
    ],
)
def test_a_value_without_sense_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(Refusal, match=name):
        read_settings()


def test_a_missing_store_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="DATABASE_URL"):
        require_stores(read_settings())


@pytest.mark.parametrize(
    ("given", "origins"),
    [
        pytest.param("", None, id="all"),
        pytest.param(" , ", None, id="nothing-named"),
        pytest.param(
            "https://a.example, https://b.example/",
            {"https://a.example", "https://b.example"},
            id="two",
        ),
    ],
)
def test_pages_that_may_connect_are_separated_by_commas(
    given: str, origins: set[str] | None
) -> None:
    assert Settings(allowed_origins=given).origins == origins


@pytest.mark.parametrize(
    "address", ["http://", "https://:443/told", "https://☃\u0fff.com/", "http://host:99999/"]
)
def test_a_webhook_that_could_never_be_sent_refuses_to_start(address: str) -> None:
    settings = read_settings(webhook_url=address, webhook_secret="a secret of sixteen")  # noqa: S106

    with pytest.raises(Refusal, match="WEBHOOK_URL"):
        check_webhook(settings)
