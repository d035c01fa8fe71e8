"""The outbound webhook of a deployment, if one is configured."""

import httpx2

from app.channels.webhook import Webhook
from app.main.refusal import Refusal
from app.main.wiring import Core
from app.settings import Settings
from app.store.notices import PostgresNotices

_LEAST_SECRET = 16


def check_webhook(settings: Settings) -> None:
    """Refuse a webhook that is configured by half.

    Raises:
        Refusal: says what is missing.
    """
    secret = settings.webhook_secret
    if (settings.webhook_url is None) != (secret is None):
        raise Refusal("WEBHOOK_URL and WEBHOOK_SECRET go together: set both, or none")
    if secret is not None and len(secret.get_secret_value()) < _LEAST_SECRET:
        raise Refusal(f"WEBHOOK_SECRET has less than {_LEAST_SECRET} characters")
    if settings.webhook_url is not None and not _is_address(settings.webhook_url):
        raise Refusal("WEBHOOK_URL is no address that anything could be sent to")


async def send_webhooks(settings: Settings, stores: Core) -> None:
    """Send what other systems are told, until cancelled; at once, if there is nobody to tell."""
    url, secret = settings.webhook_url, settings.webhook_secret
    if url is None or secret is None:
        return
    async with httpx2.AsyncClient() as client:
        notices = PostgresNotices(stores.database)
        await Webhook(notices, url, secret.get_secret_value(), stores.clock, client).run()


def _is_address(url: str) -> bool:
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL:
        return False
    return bool(address.host) and (address.port or 0) < 1 << 16
