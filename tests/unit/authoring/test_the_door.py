"""The door of ``app`` is lazy: who needs the domain alone does not wait for a model library."""

import subprocess
import sys

import pytest

CHECK = """
import sys, app.domain.run, app
heavy = {"pydantic_ai", "pydantic", "sqlmodel"} & set(sys.modules)
assert not heavy, heavy
app.Agent
assert "pydantic_ai" in sys.modules
"""


@pytest.mark.req("AGT-01")
def test_importing_the_domain_loads_no_model_library() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True, timeout=60)
