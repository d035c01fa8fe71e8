"""Calls a function: finds it, checks the arguments, runs it by its kind, checks the result.

    query     a read-only transaction
    mutation  one transaction, with the dedupe row in it; run again whole when it ran
              into another one; runs that it starts exist exactly if it commits
    action    no transaction; its dedupe row is committed before it starts

Every way in (socket, HTTP, tools, other functions) comes through ``Functions.call``.
"""

import asyncio
import logging
import random
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

from app.authoring.contained import contained
from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import FunctionKind
from app.authoring.producer import Producers
from app.authoring.scheduler import Scheduler
from app.domain.calls import RememberedCall
from app.domain.errors import (
    AgentFault,
    ChatError,
    Conflict,
    Contended,
    InvalidArgument,
    NotFound,
    TransientFault,
)
from app.domain.identity import Identity
from app.domain.storable import Json
from app.domain.tables import Keys
from app.functions.agent_runs import AgentCard, AgentRuns, CallScope
from app.functions.immediate import ImmediateCalls
from app.functions.memory import Call, answered, failed
from app.functions.ports import Transactions
from app.functions.registry import FunctionRegistry, Registered
from app.functions.transactional import TransactionalCalls
from app.telemetry.metrics import Metrics
from app.threads.scopes import check_scope

log = logging.getLogger(__name__)

TRANSACTION_LIMIT_S = 30.0
"""A query or mutation holds a database connection; what takes longer belongs in an action."""

TRIES = 8
"""How often a mutation is run whose transaction keeps running into others."""

ANSWER_PATIENCE_S = 30.0
"""How long a repeated action waits for the first one's answer."""

_POLL_S = 0.25

T = TypeVar("T")
Mutated: TypeAlias = tuple[Json, TransactionalCalls | None]
"""What a mutation answered, and what it still owes: nothing, if it is a repeated call."""


class Functions:
    """All functions of a process, callable."""

    def __init__(
        self,
        registry: FunctionRegistry,
        transactions: Transactions,
        runs: AgentRuns,
        agents: Mapping[str, AgentCard],
        metrics: Metrics,
    ) -> None:
        self._registry = registry
        self._transactions = transactions
        self._runs = runs
        self._agents = agents
        self._metrics = metrics

    async def call(
        self,
        ref: str,
        args: Mapping[str, object] | None = None,
        *,
        caller: Identity,
        dedupe: str | None = None,
        internal: bool = False,
    ) -> Json:
        """Return what the function at ``ref`` answers.

        Args:
            ref: ``module:name``; the name in either spelling.
            args: by name, in either spelling.
            caller: whom the function sees as ``ctx.auth``.
            dedupe: the same call under the same key takes effect once and answers the same.
            internal: the call comes from server code, which may call internal functions.

        Raises:
            NotFound: there is no such function for this caller.
            Forbidden: the caller's key has no scope for it.
            InvalidArgument: the arguments do not fit.
            ChatError: whatever else the function refuses with.
        """
        found = self._found(ref, caller, internal=internal)
        given = args or {}
        arguments = found.signature.take(given)
        call = (
            None if dedupe is None else Call.of(caller, found.ref, dedupe, given, internal=internal)
        )
        with self._measured(found):
            return await self._run(found, arguments, caller, call)

    def may_write(self, ref: str) -> bool:
        """Return whether a call of ``ref`` may change anything: no query does."""
        found = self._registry.lookup(ref)
        return found is not None and found.function.kind is not FunctionKind.QUERY

    async def read(
        self, ref: str, args: Mapping[str, object], *, caller: Identity, reads: dict[str, Keys]
    ) -> Json:
        """Return what the public query at ``ref`` answers, for whoever watches it.

        Args:
            ref: as of ``call``.
            args: as of ``call``.
            caller: as of ``call``.
            reads: is told what the query read of the team's tables, also when it fails.

        Raises:
            InvalidArgument: it is no query; or as of ``call``.
            ChatError: as of ``call``.
        """
        found = self._found(ref, caller, internal=False)
        if found.function.kind is not FunctionKind.QUERY:
            raise InvalidArgument(
                f"{found.ref} is a {found.function.kind}; only queries can be subscribed to"
            )
        arguments = found.signature.take(args)
        reads.update(dict.fromkeys(found.function.reads))
        with self._measured(found):
            query = self._query(found, arguments, caller, reads)
            return await _deliberate(found, _in_time(query))

    def _found(self, ref: str, caller: Identity, *, internal: bool) -> Registered:
        found = self._registry.lookup(ref)
        if found is None or (found.function.internal and not internal):
            raise NotFound(f"no function {ref!r}")
        if not internal:
            check_scope(caller, found.ref)
        return found

    @contextmanager
    def _measured(self, found: Registered) -> Iterator[None]:
        """Observe how long it took and how it ended; log what nobody meant."""
        begun, outcome = perf_counter(), "ok"
        try:
            yield
        except ChatError as error:
            outcome = error.code
            if isinstance(error, AgentFault):
                log.exception("function %s", found.ref)
            raise
        except BaseException:
            outcome = "CUT_OFF"
            raise
        finally:
            self._metrics.functions.labels(found.ref, outcome).observe(perf_counter() - begun)

    async def _run(
        self, found: Registered, arguments: dict[str, Any], caller: Identity, call: Call | None
    ) -> Json:
        match found.function.kind:
            case FunctionKind.QUERY:
                return await _deliberate(found, _in_time(self._query(found, arguments, caller, {})))
            case FunctionKind.MUTATION:
                mutating = self._mutate(found, arguments, caller, call)
                value, calls = await _deliberate(found, _in_time(mutating))
                if calls is not None:
                    await calls.after_commit()
                return value
            case FunctionKind.ACTION if call is None or found.function.idempotent:
                return await _deliberate(found, self._act(found, arguments, caller, call))
            case FunctionKind.ACTION:
                return await self._act_once(found, arguments, caller, call)

    async def _query(
        self,
        found: Registered,
        arguments: dict[str, Any],
        caller: Identity,
        reads: dict[str, Keys],
    ) -> Json:
        async with self._transactions.read_only(reads) as session:
            return await _body(found, QueryContext(caller, session), arguments)

    async def _mutate(
        self, found: Registered, arguments: dict[str, Any], caller: Identity, call: Call | None
    ) -> Mutated:
        for attempt in range(1, TRIES + 1):
            try:
                return await self._mutate_once(found, arguments, caller, call)
            except Contended:
                if attempt == TRIES:
                    raise
                # Full jitter, so that those who met do not meet again.
                await asyncio.sleep(random.uniform(0, 0.005 * (1 << attempt)))  # noqa: S311
        raise AssertionError("the last attempt returns or raises")

    async def _mutate_once(
        self, found: Registered, arguments: dict[str, Any], caller: Identity, call: Call | None
    ) -> Mutated:
        scope = self._scope(caller, call)
        async with self._transactions.begin() as unit:
            if call is not None:
                earlier = await unit.remember(call.key, call.arguments)
                if earlier is not None:
                    return call.outcome_of(earlier), None
            calls = TransactionalCalls(scope, unit)
            context = MutationContext(
                caller,
                unit.session,
                Producers(self._agents, calls),
                Scheduler(self._agents, calls),
                branches=unit,
                dedupe=scope.dedupe,
            )
            value = await _body(found, context, arguments)
            if call is not None:
                await unit.answer(call.key, answered(value))
        return value, calls

    async def _act(
        self, found: Registered, arguments: dict[str, Any], caller: Identity, call: Call | None
    ) -> Json:
        calls = ImmediateCalls(self._scope(caller, call))

        async def run(ref: str, args: Mapping[str, object] | None = None) -> Json:
            return await self.call(ref, args, caller=caller, internal=True)

        context = ActionContext(
            caller, Producers(self._agents, calls), run, Scheduler(self._agents, calls)
        )
        return await _body(found, context, arguments)

    async def _act_once(
        self, found: Registered, arguments: dict[str, Any], caller: Identity, call: Call
    ) -> Json:
        earlier = await self._remember(call)
        if earlier is not None:
            return await self._answer_of(call, earlier)
        try:
            value = await _deliberate(found, self._act(found, arguments, caller, call))
        except ChatError as error:
            await self._note(call, failed(error))
            raise
        await self._note(call, answered(value))
        return value

    async def _answer_of(self, call: Call, earlier: RememberedCall) -> Json:
        """Return the first call's answer, when it comes.

        Raises:
            Conflict: it did not come; what has become of that call is not known.
        """
        call.check(earlier)
        try:
            async with asyncio.timeout(ANSWER_PATIENCE_S):
                while earlier.result is None:
                    await asyncio.sleep(_POLL_S)
                    earlier = await self._remember(call) or earlier
        except TimeoutError:
            raise Conflict(
                "this call was made before and has not answered; what became of it is not known"
            ) from None
        return call.outcome_of(earlier)

    async def _remember(self, call: Call) -> RememberedCall | None:
        async with self._transactions.begin() as unit:
            return await unit.remember(call.key, call.arguments)

    async def _note(self, call: Call, outcome: str) -> None:
        try:
            async with self._transactions.begin() as unit:
                await unit.answer(call.key, outcome)
        except TransientFault as error:
            # The action has happened and its caller is told; only a repetition would not be.
            log.warning("the outcome of %s is not stored: %s", call.key.function, error)

    def _scope(self, caller: Identity, call: Call | None) -> CallScope:
        dedupe = call.key.dedupe if call else None
        return CallScope(self._runs, self._agents, caller, dedupe, self._registry)


async def _in_time(work: Coroutine[Any, Any, T]) -> T:
    limit = asyncio.timeout(TRANSACTION_LIMIT_S)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise TransientFault(
            f"took longer than {TRANSACTION_LIMIT_S:g} s and was given up; an @action may take more"
        ) from None


async def _deliberate(found: Registered, work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` does; what nobody meant for the caller becomes one plain sentence.

    It stands outside of transactions, which have to see the database's own errors.
    """
    try:
        return await work
    except ChatError:
        raise
    except Exception as error:
        raise AgentFault(f"{found.ref} failed") from error


async def _body(found: Registered, context: object, arguments: dict[str, Any]) -> Json:
    with contained(found.ref):
        return found.signature.give(await found.function.body(context, **arguments))
