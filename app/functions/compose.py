"""The functions of a process, put together: the team's, and those that come with it."""

from collections.abc import Collection, Mapping

from app.authoring.agent import Agent
from app.authoring.binding import bound_tool
from app.authoring.function_tool import FunctionCatalog
from app.authoring.tool_schema import ArgumentsRefused
from app.domain.errors import Conflict
from app.domain.override import Governed
from app.domain.ports import OverrideStore
from app.domain.ports.branches import BranchStore
from app.domain.storable import Json
from app.functions.agent_runs import AgentCard, AgentRuns
from app.functions.builtin_admin import AdminFunctions
from app.functions.builtin_approvals import ApprovalFunctions, Misfit
from app.functions.builtin_branches import BranchFunctions
from app.functions.builtin_calls import AgentCallFunctions
from app.functions.builtin_governance import GovernanceFunctions
from app.functions.builtin_overrides import OverrideFunctions
from app.functions.builtin_reads import ThreadReads
from app.functions.builtin_signals import SignalFunctions
from app.functions.builtin_spend import SpendFunctions
from app.functions.builtin_writes import ThreadWrites
from app.functions.dispatch import Functions
from app.functions.ports import AdminReader, Transactions
from app.functions.registry import FunctionRegistry
from app.telemetry.metrics import Metrics
from app.threads.governing import ADMINS_ONLY, Permissions


def compose_functions(
    registry: FunctionRegistry,
    agents: Mapping[str, Agent],
    *,
    transactions: Transactions,
    runs: AgentRuns,
    metrics: Metrics,
    open_threads_decide: bool = False,
    admin: AdminReader | None = None,
    version: str = "",
    overrides: OverrideStore | None = None,
    permissions: Permissions = ADMINS_ONLY,
    branches: BranchStore | None = None,
) -> Functions:
    """Return everything that can be called, with the built-in functions added to ``registry``.

    Args:
        registry: the team's functions.
        agents: by slug.
        transactions: opens them.
        runs: the stores that producers and built-ins work on.
        metrics: of this process.
        open_threads_decide: whether whoever knows an ownerless thread's key may decide its
            approvals.
        admin: reads what operators look at; without it there are no functions for them.
        version: of the server, for operators.
        overrides: what operators say over the code; without it the code alone has a say.
        permissions: which roles may change that.
        branches: of conversations; without it there are no functions for them.
    """
    governance = overrides or Ungoverned()
    registry.add_built_ins(ThreadReads(runs.reader).functions())
    registry.add_built_ins(ThreadWrites(runs.writer, runs.ids).functions())
    registry.add_built_ins(AgentCallFunctions(runs, agents, governance).functions())
    approvals = ApprovalFunctions(
        runs,
        agents,
        _misfit(agents, registry),
        open_threads_decide=open_threads_decide,
        governance=governance,
    )
    registry.add_built_ins(approvals.functions())
    registry.add_built_ins(SignalFunctions(runs.reader, governance).functions())
    if branches is not None:
        branching = BranchFunctions(branches, runs.ids, agents, governance)
        registry.add_built_ins(branching.functions())
    if admin is not None:
        operating = AdminFunctions(
            admin,
            agents,
            registry,
            version=version,
            show_approvals=approvals.shown,
        )
        registry.add_built_ins(operating.functions())
    if overrides is not None:
        over = OverrideFunctions(overrides, agents, registry, permissions)
        registry.add_built_ins(over.functions())
        governing = GovernanceFunctions(overrides, agents, permissions)
        registry.add_built_ins(governing.functions())
    if overrides is not None and admin is not None:
        spending = SpendFunctions(admin, overrides, agents, permissions)
        registry.add_built_ins(spending.functions())
    return Functions(registry, transactions, runs, agents, metrics)


class Ungoverned:
    """Implements ``GovernanceReader`` where no operator has a say."""

    async def governed(self, agents: Collection[str] | None = None) -> Governed:
        """See ``GovernanceReader.governed``."""
        del agents
        return Governed()


def _misfit(agents: Mapping[str, AgentCard], catalog: FunctionCatalog) -> Misfit:
    def misfit(agent: str, tool: str, arguments: Mapping[str, Json]) -> str | None:
        card = agents.get(agent)
        offered = None if card is None else card.tools.get(tool)
        if offered is None:
            raise Conflict(f"{agent} has no tool {tool!r} any more, so nothing can be changed")
        try:
            bound_tool(offered, catalog).parameters.validate(dict(arguments))
        except ArgumentsRefused as refused:
            return refused.wrong
        return None

    return misfit
