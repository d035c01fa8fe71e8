"""Rings, stores and the rules that every test is held to.

A test's ring is its folder.  Rules: tests of the unit ring open no socket, no task is left
running, no Redis key without a TTL survives, no provider of models is ever called, and nothing of
the developer's own environment is read.
"""

import asyncio
import inspect
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_socket
import redis

from app.main.embedded import EmbeddedPostgres, EmbeddedRedis
from app.settings import Settings
from app.store.migrate import upgrade
from tests.support.embedded_stores import (
    Databases,
    delete_keys,
    keys_without_ttl,
    running_postgres,
    running_redis,
)
from tests.support.patience import be_patient

_TESTS = Path(__file__).parent
_TEMPLATE = "ropewalk_template"
_PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_OURS = [field.upper() for field in Settings.model_fields] + ["ROPEWALK_DEV"]


def pytest_configure() -> None:
    """Forget the developer's own settings and keys, and a hang-up that nohup told us to ignore.

    Children inherit what is ignored, and tests hang up on them.
    """
    for name in (*_OURS, *_PROVIDER_KEYS):
        os.environ.pop(name, None)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its ring."""
    for item in items:
        if item.path.is_relative_to(_TESTS):
            item.add_marker(item.path.relative_to(_TESTS).parts[0])


@pytest.fixture(autouse=True)
def _rules_of_the_ring(request: pytest.FixtureRequest) -> Iterator[None]:
    models = sys.modules.get("pydantic_ai.models")
    if models is not None:
        models.__dict__["ALLOW_MODEL_REQUESTS"] = False
    if request.node.get_closest_marker("unit") is not None:
        pytest_socket.disable_socket(allow_unix_socket=True)  # the event loop wakes itself by one
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("no_task_left_running")
    yield
    pytest_socket.enable_socket()


@pytest.fixture(autouse=True)
def _patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give nothing up that a slow machine would do in time, but where that is the subject."""
    if request.node.get_closest_marker("impatient") is None:
        be_patient(monkeypatch)


@pytest.fixture
async def no_task_left_running() -> AsyncIterator[None]:
    """Fail the test that leaves a task behind."""
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=0.5)
    for task in left:
        task.cancel()
    assert not left, f"tasks left running: {sorted(task.get_name() for task in left)} {left}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The session's Postgres.  A test that stops or kills it starts it again."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def databases(postgres: EmbeddedPostgres) -> Databases:
    """Makes databases on the session's Postgres."""
    return Databases(postgres)


@pytest.fixture(scope="session")
def _template(databases: Databases) -> str:
    upgrade(databases.create(_TEMPLATE))
    return _TEMPLATE


@pytest.fixture
def database_url(databases: Databases, _template: str) -> Iterator[str]:
    """A migrated database that no other test sees (LISTEN and NOTIFY included)."""
    with databases.fresh(_template) as url:
        yield url


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    """A database without a table."""
    with databases.fresh() as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedRedis]:
    """The session's Redis.  A test that stops or kills it starts it again."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: EmbeddedRedis) -> str:
    """The address of the session's Redis; keep to ``redis_namespace`` in it."""
    return redis_server.fast_url


@pytest.fixture
def redis_namespace(redis_url: str) -> Iterator[str]:
    """A prefix of the test's own.  A key of it that would stay for ever fails the test."""
    namespace = f"t{uuid.uuid4().hex[:12]}"
    yield namespace
    with redis.Redis.from_url(redis_url) as client:
        leaked = keys_without_ttl(client, namespace)
        delete_keys(client, namespace)
    assert not leaked, f"keys without a TTL: {leaked}"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser that ``scripts/chromium`` found; a missing one is an error, never a skip."""
    path = os.environ.get("ROPEWALK_CHROMIUM")
    assert path, "run the browser tests through scripts/test browser, which finds a Chromium"
    return path
