"""What the tools of a file's agents did, written down outside our stores."""

import pytest

from tests.support.counted import Counted


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """Return the file that the agents' tools write to."""
    return Counted(tmp_path_factory.mktemp("counted") / "log")
