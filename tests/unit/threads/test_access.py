"""Who may see, start and decide what."""

from collections.abc import Callable

import pytest

from app.domain.errors import ChatError, Forbidden, NotFound, Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.domain.thread import Thread, ThreadStatus
from app.threads.access import (
    Access,
    check_may_retry,
    check_may_signal,
    check_may_start,
    may_see_agent,
)

ANN, BOB = Identity("ann"), Identity("bob")
ADMIN = Identity("root", frozenset({"admin"}))


def a_thread(owner: str | None) -> Thread:
    return Thread("t", "k", "support", ThreadStatus.COMPLETED, None, 0, 0, 0, 0, owner=owner)


def raised(check: Callable[[], None]) -> type[ChatError] | None:
    try:
        check()
    except ChatError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("access", "caller", "refusal"),
    [
        ("public", ANONYMOUS, None),
        ("public", ANN, None),
        ("authenticated", ANONYMOUS, Unauthenticated),
        ("authenticated", ANN, None),
        ("internal", ANN, NotFound),
        ("internal", ADMIN, NotFound),
        (None, ANN, NotFound),
    ],
)
def test_who_may_start_a_run_from_outside(
    access: Access | None, caller: Identity, refusal: type[ChatError] | None
) -> None:
    assert raised(lambda: check_may_start("support", access, caller)) is refusal


def test_an_internal_agent_is_refused_in_the_words_of_a_missing_one() -> None:
    with pytest.raises(NotFound) as internal:
        check_may_start("x", "internal", ANN)
    with pytest.raises(NotFound) as missing:
        check_may_start("x", None, ANN)

    assert internal.value.message == missing.value.message


def test_an_internal_agent_is_listed_to_admins_alone() -> None:
    assert not may_see_agent("internal", ANN)
    assert may_see_agent("internal", ADMIN)


@pytest.mark.req("SIG-07")
@pytest.mark.parametrize(
    ("thread", "caller", "refusal"),
    [
        (a_thread("ann"), ANN, None),
        (a_thread("ann"), ADMIN, None),
        (a_thread("ann"), BOB, Forbidden),
        (a_thread("ann"), ANONYMOUS, Forbidden),
        (a_thread(None), ADMIN, None),
        (a_thread(None), ANN, Forbidden),
        (a_thread(None), ANONYMOUS, Forbidden),
        (None, ADMIN, None),
        (None, ANN, Forbidden),
    ],
)
def test_signals_are_for_owners_and_admins(
    thread: Thread | None, caller: Identity, refusal: type[ChatError] | None
) -> None:
    assert raised(lambda: check_may_signal(thread, caller)) is refusal


@pytest.mark.parametrize(
    ("owner", "access", "caller", "refusal"),
    [
        ("ann", "internal", ANN, None),
        ("ann", None, ANN, None),
        (None, "public", ANONYMOUS, None),
        (None, "authenticated", ANN, None),
        (None, "authenticated", ANONYMOUS, Unauthenticated),
        (None, "internal", ANN, NotFound),
        (None, "internal", ADMIN, None),
        (None, None, ANN, NotFound),
    ],
)
def test_those_may_retry_who_own_the_thread_or_could_have_started_the_run(
    owner: str | None, access: Access | None, caller: Identity, refusal: type[ChatError] | None
) -> None:
    assert raised(lambda: check_may_retry(a_thread(owner), access, caller)) is refusal
