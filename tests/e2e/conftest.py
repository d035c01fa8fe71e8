"""What every end-to-end file looks at: what tools did, and what a deployment of its own stores."""

import pytest

from tests.support.counted import Counted
from tests.support.dev_process import DevProcess
from tests.support.stored import Stored


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """Return the file that the agents' tools write to."""
    return Counted(tmp_path_factory.mktemp("counted") / "log")


@pytest.fixture
def stored(dev: DevProcess) -> Stored:
    """Return what the file's deployment stores, once all its workers are up."""
    stored = Stored(dev)
    stored.wait_for_workers()
    return stored
