"""Makes the calls that are due: a mutation exactly once, an action at most once.

A call is claimed, made under a dedupe key of its own, and marked.  A process that dies between
the call and the mark leaves a claim that runs out; whoever makes the call again finds that it
was made.  Of an action that was cut off, all that can be known is that it had begun.
"""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from app.authoring.functions import FunctionKind
from app.domain.errors import ChatError, InvalidArgument, StoreUnavailable, TransientFault
from app.domain.identity import Identity
from app.domain.ports.schedules import CallStore
from app.domain.scheduled import CallTarget, DueCall
from app.domain.storable import Json, decode
from app.functions.registry import FunctionRegistry

log = logging.getLogger(__name__)

AT_ONCE = 32
"""Calls that one process makes at a time: an action that takes an hour does not hold up others."""
LEASE = timedelta(seconds=15)
_RENEW_EVERY_S = 5.0
_LOOK_EVERY_S = 1.0
TRIES = 8
"""How often a call is tried whose database or services are away, or whose arguments are those of
another release: a worker of it may be the next one to claim it."""
_FIRST_WAIT = timedelta(seconds=2)
_LONGEST_WAIT = timedelta(minutes=2)
_UNKNOWN_AFTER = timedelta(hours=1)
"""So long may a release that brings a function take to arrive."""
_LOOK_FOR_UNKNOWN_EVERY_S = 60.0


class CallFunction(Protocol):
    """``Functions.call``."""

    async def __call__(
        self,
        ref: str,
        args: Mapping[str, Any],
        *,
        caller: Identity,
        dedupe: str | None,
        internal: bool,
    ) -> Json:
        """Return what the function answers."""
        ...


class _FitsElsewhere(TransientFault):
    """The arguments were right when the call was scheduled, and are not what is taken here."""


class DueCalls:
    """One in every worker."""

    def __init__(self, call: CallFunction, functions: FunctionRegistry, store: CallStore) -> None:
        self._call = call
        self._functions = functions
        self._refs = [each.ref for each in functions.all()]
        self._store = store
        self._in_flight: set[str] = set()
        self._changed = asyncio.Event()
        self._is_leaving = False

    async def run(self) -> None:
        """Make due calls until cancelled; those in flight are cut off then."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_claims())
            group.create_task(self._bury_unknown())
            while True:
                self._changed.clear()
                if not self._is_leaving:
                    await self._begin(group)
                await self._rest()

    async def hand_over(self, patience: timedelta) -> None:
        """Begin no more calls, and wait for those in flight, for a while."""
        self._is_leaving = True
        try:
            async with asyncio.timeout(patience.total_seconds()):
                while self._in_flight:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("%d scheduled calls are cut off", len(self._in_flight))

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        room = AT_ONCE - len(self._in_flight)
        if room <= 0:
            return
        try:
            claimed = await self._store.claim(self._refs, room, LEASE)
        except StoreUnavailable as error:
            log.warning("no scheduled call is begun for now: %s", error)
            return
        for due in claimed:
            if self._is_leaving:  # since the claim was asked for: it runs out, and others make it
                return
            self._in_flight.add(due.id)
            group.create_task(self._make(due))

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_EVERY_S):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _make(self, due: DueCall) -> None:
        try:
            await self._made(due)
        except StoreUnavailable as error:
            # The claim runs out; then somebody looks again what has become of it.
            log.warning("the scheduled call %s is not marked: %s", due.id, error)
        except Exception:  # else it would end its worker, and the next one that claims it
            log.exception("the scheduled call %s is not marked", due.id)
        finally:
            self._in_flight.discard(due.id)
            self._changed.set()

    async def _made(self, due: DueCall) -> None:
        target = due.target
        error: str | None = None
        try:
            await self._call(
                target.function,
                self._arguments(target),
                caller=target.caller,
                dedupe=f"scheduled:{due.id}",
                internal=True,
            )
        except TransientFault as fault:
            is_begun = not isinstance(fault, _FitsElsewhere)
            if due.attempts < TRIES and not (is_begun and self._is_single(target.function)):
                wait = min(_FIRST_WAIT * (1 << due.attempts - 1), _LONGEST_WAIT)
                log.warning("%s, scheduled, is put off by %s: %s", target.function, wait, fault)
                await self._store.put_off(due.id, wait)
                return
            error = fault.message
        except ChatError as fault:
            error = fault.message
        if error is not None:
            log.warning("%s, scheduled as %s, failed: %s", target.function, due.id, error)
        await self._store.settle(due.id, error)

    def _arguments(self, target: CallTarget) -> Mapping[str, Any]:
        """Return the arguments of a call.

        Raises:
            _FitsElsewhere: they do not fit.
        """
        stored, found = decode(target.arguments), self._functions.lookup(target.function)
        arguments = stored if isinstance(stored, dict) else {}
        try:
            if found is not None:
                found.signature.take(arguments)
        except InvalidArgument as error:
            raise _FitsElsewhere(error.message) from error
        return arguments

    def _is_single(self, ref: str) -> bool:
        """Whether nobody knows what a fault has left behind: of an action."""
        found = self._functions.lookup(ref)
        return found is None or not (
            found.function.kind is FunctionKind.MUTATION or found.function.idempotent
        )

    async def _keep_claims(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_EVERY_S)
            if self._in_flight:
                try:
                    await self._store.renew(tuple(self._in_flight), LEASE)
                except StoreUnavailable as error:
                    log.warning("claims of scheduled calls are not renewed: %s", error)

    async def _bury_unknown(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_FOR_UNKNOWN_EVERY_S)
            try:
                if await self._store.fail_unknown(self._refs, _UNKNOWN_AFTER):
                    log.warning("scheduled calls failed: no worker knows their functions")
            except StoreUnavailable as error:
                log.warning("unknown functions are not looked for: %s", error)
