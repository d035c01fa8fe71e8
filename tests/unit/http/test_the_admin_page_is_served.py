"""The admin UI's files: at every address of it, in production too, and under no other page."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.functions.registry import FunctionRegistry
from app.http.services import DevServices
from app.telemetry.metrics import Metrics
from tests.support.backend import Backend

PAGE = "<h1>the admin UI</h1>"


@pytest.fixture
def serving(backend: Backend, tmp_path: Path) -> Callable[..., Backend]:
    folder = tmp_path / "admin"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "assets" / "app-1a2b.js").write_text("let admin")

    def with_(admin: Path = folder, dev: DevServices | None = None) -> Backend:
        return replace(
            backend, registry=FunctionRegistry(), metrics=Metrics(), admin=admin, dev=dev
        )

    return with_


@pytest.mark.parametrize("in_dev", [False, True])
@pytest.mark.parametrize(
    "path",
    ["/admin", "/admin/", "/admin/runs/r1", "/admin/threads/a.b", "/admin/threads/a%2Fb%20c"],
)
async def test_every_address_of_it_is_the_page(
    serving: Callable[..., Backend], tmp_path: Path, path: str, *, in_dev: bool
) -> None:
    dev = DevServices("u", "a", lambda user, _: user, tmp_path) if in_dev else None
    async with serving(dev=dev).client() as client:
        answer = await client.get(path, follow_redirects=True)

    assert (answer.status_code, answer.text) == (200, PAGE)
    assert answer.headers["cache-control"] == "no-cache"


async def test_its_door_leads_where_the_browser_is_already(serving: Callable[..., Backend]) -> None:
    async with serving().client() as client:
        answer = await client.get("/admin?as=ann", headers={"host": "elsewhere.example"})

    assert answer.headers["location"] == "/admin/?as=ann"


async def test_a_script_is_kept_and_a_missing_one_is_not_the_page(
    serving: Callable[..., Backend],
) -> None:
    async with serving().client() as client:
        script = await client.get("/admin/assets/app-1a2b.js")
        known = {"if-none-match": script.headers["etag"]}
        again = await client.get("/admin/assets/app-1a2b.js", headers=known)
        missing = await client.get("/admin/assets/old.js")

    assert script.headers["cache-control"].endswith("immutable")
    assert (again.status_code, again.headers["cache-control"]) == (
        304,
        script.headers["cache-control"],
    )
    assert missing.status_code == 404


@pytest.mark.parametrize("path", ["/admin/", "/admin/runs"])
async def test_no_other_page_may_lay_itself_over_it(
    serving: Callable[..., Backend], path: str
) -> None:
    async with serving().client() as client:
        answer = await client.get(path)

    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


async def test_one_that_is_not_built_says_how_to_build_it(
    serving: Callable[..., Backend], tmp_path: Path
) -> None:
    async with serving(admin=tmp_path / "nothing").client() as client:
        answer = await client.get("/admin/")

    assert answer.status_code == 503
    assert "make setup" in answer.text
