"""Built pages: a folder of files whose router lives in the browser.

An address without a file is the page itself.  Names with a hash in them are kept for ever, the
page that names them is asked for each time.  A folder that was never built says how to build it.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_NOT_BUILT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Ropewalk</title></head>
<body style="font: 16px/1.5 system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>This page is not built yet</h1>
<p>Run <code>make setup</code> once, then load this page again.</p>
</body></html>
"""
_ADMIN_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-security-policy": (
            "default-src 'self'; img-src 'self' https: data:; object-src 'none'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }
)
"""A page that decides things: no script but ours, and no other site may lay itself over it."""


class BuiltPage(StaticFiles):
    """One built page and its files."""

    def __init__(
        self, folder: Path, *, headers: Mapping[str, str] | None = None, any_name: bool = False
    ) -> None:
        """Serve ``folder``.

        Args:
            folder: where the build put it; it may come later.
            headers: go with every answer.
            any_name: whether an address of the page may look like a file, as one with a key
                in it may; then only what is missing under ``assets/`` is not found.
        """
        super().__init__(directory=folder, html=True, check_dir=False)
        self._headers = headers or {}
        self._any_name = any_name

    async def check_config(self) -> None:
        """Let a folder be missing: the page then says how to build it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, the page, or how to build it."""
        if not self._has("index.html"):
            return HTMLResponse(_NOT_BUILT, status_code=503, headers=dict(self._headers))
        if not self._has(path) and self._is_address(path):
            path = "index.html"
        response = await super().get_response(path, scope)
        immutable = path.startswith("assets/") and response.status_code in {200, 206, 304}
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if immutable else "no-cache"
        )
        response.headers.update(self._headers)
        return response

    def _is_address(self, path: str) -> bool:
        if self._any_name:
            return not path.startswith("assets/")
        return "." not in path.rpartition("/")[2]

    def _has(self, path: str) -> bool:
        try:
            _, found = self.lookup_path(path)
        except (OSError, ValueError):  # no file can be called that
            raise HTTPException(404) from None
        return found is not None


def admin_routes(folder: Path) -> list[BaseRoute]:
    """Return the admin UI's.  Its files carry no data: what it shows needs a token."""

    async def enter(request: Request) -> Response:
        # No host and no scheme: those of the request may be a proxy's, or anybody's.
        query = request.url.query
        return RedirectResponse(f"/admin/?{query}" if query else "/admin/")

    return [
        Route("/admin", enter, methods=["GET"]),
        Mount("/admin", BuiltPage(folder, headers=_ADMIN_HEADERS, any_name=True), name="admin"),
    ]
