"""The settings of a deployment on stores of its own."""

import pytest

from app.settings import Settings
from tests.support.backend import SECRET


@pytest.fixture
def settings(database_url: str, redis_url: str, redis_namespace: str) -> Settings:
    """Of one whose tokens are stored and not streamed."""
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        redis_namespace=redis_namespace,
        jwt_secret=SECRET,
        stream_tokens=False,
    )
