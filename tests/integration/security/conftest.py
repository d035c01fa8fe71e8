"""A deployment to be attacked: a team's functions and agents, and data behind a gate."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from app.gateway.asgi import GatewayOptions
from app.settings import Settings
from tests.support.backend import SECRET
from tests.support.deployment import Deployment, deployment
from tests.support.team_folder import TeamFolder, a_team_folder

CREW = Path(__file__).parent / "crew"
TABLES = """
CREATE TABLE vault (id serial PRIMARY KEY, owner text NOT NULL, what text NOT NULL);
CREATE TABLE visits (id serial PRIMARY KEY, who text, roles text NOT NULL, scopes text, place text);
INSERT INTO vault (owner, what) VALUES ('ann', 'the map of the treasure');
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TeamFolder]:
    """Return the team's folder, loaded in this process and forgotten afterwards."""
    with a_team_folder(tmp_path) as made:
        yield made.write(
            **{
                str(file.relative_to(CREW).with_suffix("")).replace("/", "__"): file.read_text()
                for file in CREW.rglob("*.py")
            }
        )


@pytest.fixture
def settings(database_url: str, redis_url: str, redis_namespace: str) -> Settings:
    """Return how the deployment is set up: callers may call as often as they like."""
    with psycopg.connect(database_url) as connection:
        connection.execute(TABLES)
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        redis_namespace=redis_namespace,
        jwt_secret=SECRET,
        calls_per_second=0,
    )


@pytest.fixture
async def fort(folder: TeamFolder, settings: Settings) -> AsyncIterator[Deployment]:
    """A gateway that does nothing by itself, so that what is counted was asked for."""
    async with deployment(
        folder.load(), settings, options=GatewayOptions(reconcile_s=3600)
    ) as made:
        yield made


@pytest.fixture
async def manned_fort(folder: TeamFolder, settings: Settings) -> AsyncIterator[Deployment]:
    """A gateway, and a worker that drives what it starts."""
    async with deployment(folder.load(), settings, works=True) as made:
        yield made
