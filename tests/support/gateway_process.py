"""A real ``ropewalk gateway`` as a child of the test, on stores that the test has."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from app.main.embedded.ports import free_port
from tests.support.backend import SECRET, token_for
from tests.support.wait_until import wait_until_sync

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class GatewayProcess:
    """One that was started."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        """Its address for HTTP."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket_url(self) -> str:
        """Its address for sockets."""
        return f"ws://127.0.0.1:{self.port}/ws"

    def status(self, path: str = "/readyz") -> int | None:
        """Return the status of an answer, or nothing when there is none."""
        try:
            return httpx2.get(f"{self.url}{path}", timeout=5).status_code
        except httpx2.TransportError:
            return None

    def headers(self, user: str) -> dict[str, str]:
        """Return what a request of this user carries."""
        return {"authorization": f"Bearer {token_for(user)}"}


@contextmanager
def a_gateway(
    folder: Path,
    *,
    database_url: str,
    redis_url: str,
    agents: Path,
    namespace: str,
    env: Mapping[str, str] | None = None,
    wait: bool = True,
) -> Iterator[GatewayProcess]:
    """Yield a gateway; whatever is left of it is killed afterwards.

    Args:
        folder: for its log.
        database_url: a migrated database.
        redis_url: see ``redis_namespace`` of the fixtures.
        agents: the folder that it loads.
        namespace: prefix of its keys in Redis.
        env: more of the environment.
        wait: whether to return only when it is ready.
    """
    port = free_port()
    given = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "REDIS_NAMESPACE": namespace,
        "PORT": str(port),
        "AGENTS": str(agents),
        "JWT_SECRET": SECRET,
    }
    log = folder / f"gateway-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.main.cli", "gateway"],
            cwd=ROOT,
            env={**os.environ, **given, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    gateway = GatewayProcess(process, port, log)
    try:
        if wait:
            wait_until_sync(
                lambda: gateway.status() == 200 or process.poll() is not None,
                description="the gateway is ready",
                timeout_s=30,
            )
            assert process.poll() is None, log.read_text()
        yield gateway
    finally:
        process.kill()
        process.wait()
