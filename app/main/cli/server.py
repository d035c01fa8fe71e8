"""Talking to a running server: where it is, who we are, and what it answered."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.main.cli.environment import read_settings
from app.main.cli.token import known_secret, mint_for
from app.main.refusal import Refusal

_DEFAULT_URL = "http://127.0.0.1:8000"


def address(url: str | None, data_dir: Path) -> str:
    """Return the server's address: the given one, that of a running ``dev``, or the usual one."""
    if url is not None:
        return url.rstrip("/")
    return str(running_dev(data_dir).get("url", _DEFAULT_URL))


def running_dev(data_dir: Path) -> dict[str, Any]:
    """Return what a ``dev`` that runs in ``data_dir`` says of itself; nothing if none does."""
    try:
        ready = json.loads((data_dir / "ready.json").read_text())
    except (OSError, ValueError):
        return {}
    return ready if isinstance(ready, dict) else {}


class Server:
    """One server, asked as one user."""

    def __init__(self, *, url: str | None, data_dir: Path, user: str, token: str | None) -> None:
        """Find the server and a token.

        Args:
            url: the server's address, or ``None`` to look in ``data_dir``.
            data_dir: of the ``dev`` whose server and secret are meant.
            user: whom to mint a token for.
            token: used instead of a minted one.
        """
        import httpx2

        settings = read_settings()
        secret = known_secret(settings, data_dir)
        if token is None and secret is not None:
            token = mint_for(settings, secret, user, [], timedelta(hours=1))
        headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        self._url = address(url, data_dir)
        self._http = httpx2.Client(base_url=self._url, headers=headers, timeout=30)

    def get(self, path: str) -> Any:  # noqa: ANN401  # JSON
        """Return what is at ``path``."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict[str, object]) -> Any:  # noqa: ANN401  # JSON
        """Send ``body`` and return the answer."""
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: dict[str, object] | None) -> Any:  # noqa: ANN401
        import httpx2

        try:
            answer = self._http.request(method, path, json=body)
        except httpx2.TransportError as error:
            raise Refusal(
                f"no server answers at {self._url} ({error}): start one with `ropewalk dev`,"
                " or name it with --url"
            ) from error
        if answer.is_success:
            return answer.json()
        raise Refusal(_complaint(answer.status_code, answer.text))


def _complaint(status: int, text: str) -> str:
    try:
        error = json.loads(text)
        return f"{error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"the server answered {status}: {text[:200]}"
