"""Functions and HTTP over any stores: what a gateway has, without sockets."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import jwt
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from app.authoring.agent import Agent
from app.domain.ports import OverrideStore, RunStore, ThreadReader
from app.domain.ports.branches import BranchStore
from app.domain.ports.schedules import CallStore
from app.functions.agent_runs import AgentRuns
from app.functions.compose import compose_functions
from app.functions.dispatch import Functions
from app.functions.ports import ThreadWriter, Transactions
from app.functions.registry import FunctionRegistry
from app.http.app import http_routes, web_app
from app.http.identity import Authenticator, IdentitySettings
from app.http.services import Admit, Authenticate, DevServices, HttpServices, Retell, admit_all
from app.main.system import SystemClock
from app.protocol.peer import Peers
from app.telemetry.metrics import Metrics
from app.testing.memory_overrides import MemoryOverrides
from app.testing.memory_transactions import MemoryTransactions
from app.testing.memory_writer import MemoryThreadWriter
from app.threads.governing import ADMINS_ONLY, Permissions
from tests.support.store_world import IDS, StoreWorld

CLOCK = SystemClock()
SECRET = "a secret that only the tests know"  # noqa: S105


def agents(**access: str) -> dict[str, Agent]:
    """Return agents by slug, each with its access."""
    return {
        slug: Agent(slug=slug, model="demo:", access=each)  # type: ignore[arg-type]  # one of the words
        for slug, each in access.items()
    }


def usual_agents() -> dict[str, Agent]:
    """Return an agent of each kind of access."""
    return agents(support="public", desk="authenticated", inner="internal")


def token_for(user: str, *roles: str) -> str:
    """Return a token that the backend takes."""
    claims = {"sub": user, "roles": roles, "exp": datetime.now(UTC) + timedelta(hours=1)}
    return jwt.encode(claims, SECRET, algorithm="HS256")


@dataclass(frozen=True)
class AFinding:
    """Implements ``app.http.services.Finding``."""

    kind: str
    sentence: str
    is_mended: bool = False


@dataclass
class Backend:
    """One composition."""

    store: RunStore
    reader: ThreadReader
    transactions: Transactions
    writer: ThreadWriter
    calls: CallStore
    agents: Mapping[str, Agent] = field(default_factory=usual_agents)
    registry: FunctionRegistry = field(default_factory=FunctionRegistry)
    dev: DevServices | None = None
    admin: Path | None = None
    streams: ASGIApp | None = None
    retell: Retell | None = None
    open_threads_decide: bool = False
    overrides: OverrideStore | None = None
    branches: BranchStore | None = None
    permissions: Permissions = ADMINS_ONLY
    problems: dict[str, str | None] = field(default_factory=dict)
    findings: Sequence[AFinding] = ()
    metrics: Metrics = field(default_factory=Metrics)
    authenticate: Authenticate = field(
        default_factory=lambda: Authenticator(IdentitySettings(secret=SECRET)).authenticate
    )
    admit: Admit = admit_all
    peers: Peers = field(default_factory=Peers)
    origins: Collection[str] | None = None
    functions: Functions = field(init=False)
    app: ASGIApp = field(init=False)
    routes: Sequence[BaseRoute] = field(init=False)
    """To be looked at."""

    def __post_init__(self) -> None:
        """Put it together."""
        self.functions = compose_functions(
            self.registry,
            self.agents,
            transactions=self.transactions,
            runs=AgentRuns(self.store, self.reader, self.writer, IDS, CLOCK, self.calls),
            metrics=self.metrics,
            open_threads_decide=self.open_threads_decide,
            overrides=self.overrides,
            permissions=self.permissions,
            branches=self.branches,
        )
        services = HttpServices(
            call=self.functions.call,
            authenticate=self.authenticate,
            admit=self.admit,
            peers=self.peers,
            agents=self.agents,
            reader=self.reader,
            store=self.store,
            metrics=self.metrics,
            readiness=self._readiness,
            examine=self._examine,
            version="1.2.3",
            streams=self.streams,
            retell=self.retell,
            admin=self.admin,
            dev=self.dev,
        )
        self.app = web_app(services, origins=self.origins)
        self.routes = http_routes(services)

    @asynccontextmanager
    async def client(
        self, user: str | None = None, *roles: str, peer: str = "127.0.0.1"
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client that speaks for a user, in this process, as if from the address."""
        headers = {} if user is None else {"authorization": f"Bearer {token_for(user, *roles)}"}
        transport = httpx2.ASGITransport(
            app=self.app, raise_app_exceptions=False, client=(peer, 1234)
        )
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as client:
            yield client

    async def _examine(self, mend: bool) -> Sequence[AFinding]:  # noqa: FBT001  # as the port has it
        self.findings = [replace(each, is_mended=mend) for each in self.findings]
        return self.findings

    async def _readiness(self) -> Mapping[str, str | None]:
        return self.problems


def memory_backend(
    world: StoreWorld,
    *,
    open_threads_decide: bool = False,
    streams: ASGIApp | None = None,
    retell: Retell | None = None,
    declared: Mapping[str, Agent] | None = None,
    permissions: Permissions = ADMINS_ONLY,
) -> Backend:
    """Return a backend over the stores in memory."""
    database = world.store._db  # type: ignore[attr-defined]  # the memory store's own
    return Backend(
        world.store,
        world.reader,
        transactions := MemoryTransactions(database, world.store, world.around.announce),
        MemoryThreadWriter(database, world.around.announce),
        world.calls,
        open_threads_decide=open_threads_decide,
        streams=streams,
        retell=retell,
        overrides=MemoryOverrides(database, world.around.announce_writes),
        branches=transactions.branching,
        permissions=permissions,
        agents=usual_agents() if declared is None else declared,
    )
