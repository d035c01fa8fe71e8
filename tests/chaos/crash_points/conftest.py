"""The database that lanes are copies of."""

import pytest

from tests.support.embedded_stores import Databases
from tests.support.law_evidence import install_audit

AUDITED = "ropewalk_audited"


@pytest.fixture(scope="session")
def audited(databases: Databases, _template: str) -> str:
    """A migrated database that writes down each change of a row."""
    install_audit(databases.create(AUDITED, _template))
    return AUDITED
