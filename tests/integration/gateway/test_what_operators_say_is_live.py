"""What one operator says shows in every other's tab, over gateways; roles come from settings."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.backend import token_for
from tests.support.gateway_process import GatewayProcess, a_gateway
from tests.support.wait_until import wait_until
from tests.support.ws_client import CallFailed, ws_client

pytestmark = pytest.mark.req("ACC-08", "ADM-02")

AGENT = """
from app import Agent

helper = Agent(model="demo:", instructions="As coded.")
"""
ROLES = {"PROJECT_MANAGE_ROLES": "owner, org-admin", "PROJECT_DEPLOY_ROLES": "release"}


@pytest.fixture
def gateways(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> Iterator[tuple[GatewayProcess, GatewayProcess]]:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "helper.py").write_text(AGENT)
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(
                a_gateway(
                    tmp_path,
                    database_url=database_url,
                    redis_url=redis_url,
                    agents=agents,
                    namespace=redis_namespace,
                    env=ROLES,
                )
            )
            for _ in range(2)
        )
        yield one, other


async def test_a_publication_shows_in_every_tab_and_each_role_does_its_part(
    gateways: tuple[GatewayProcess, GatewayProcess],
) -> None:
    here, there = gateways
    async with (
        ws_client(here.socket_url, token_for("dora", "release")) as dora,
        ws_client(there.socket_url, token_for("max", "org-admin")) as max_,
    ):
        view = await max_.ask("agents:adminOverrides", agent="helper")
        governance = await dora.ask("agents:adminGovernance")
        await wait_until(lambda: view.is_answered and governance.is_answered, description="both")

        draft = {"agent": "helper", "content": {"instructions": "Be kind."}}
        await max_.call("agents:adminSaveDraft", draft)
        with pytest.raises(CallFailed, match="project:deploy"):
            await max_.call("agents:adminPublish", {"agent": "helper"})
        await dora.call("agents:adminPublish", {"agent": "helper"})
        await wait_until(lambda: view.value["version"] == 1, description="the publication")
        with pytest.raises(CallFailed, match="project:manage"):
            await dora.call("agents:adminSetModels", {"models": ["demo:"]})
        await max_.call("agents:adminSetModels", {"models": ["demo:"]})
        await wait_until(lambda: governance.value["models"] == ["demo:"], description="the models")

        assert view.value["inForce"] == {"instructions": "Be kind."}
        assert view.value["draft"] is None
        assert view.value["may"] == {"manage": True, "deploy": False}
