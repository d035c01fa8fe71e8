"""Who may decide: whoever is named, else the owner, who is responsible, and admins."""

from datetime import UTC, datetime

import pytest

from app.domain.approval import Approval, ApprovalRules, ApprovalStatus
from app.domain.errors import Forbidden
from app.domain.identity import ADMIN, ANONYMOUS, Identity
from app.threads.approvers import check_may_decide, may_decide

ANN = Identity("ann", email="Ann@Example.com")
BOB = Identity("bob", email="bob@example.com")
ROOT = Identity("root", frozenset({ADMIN}))


def asked(owner: str | None, *approvers: str) -> Approval:
    return Approval(
        "a",
        "t",
        "r",
        "c",
        "refund",
        {},
        ApprovalStatus.PENDING,
        1,
        datetime.now(UTC),
        "key",
        "support",
        owner,
        ApprovalRules(approvers),
    )


@pytest.mark.req("APR-18", "APR-21", "APR-22", "APR-23", "APR-24")
@pytest.mark.parametrize(
    ("approval", "caller", "responsible", "may"),
    [
        pytest.param(asked("ann"), ANN, None, True, id="the-owner"),
        pytest.param(
            asked("ann", "bob@straße.example"),
            Identity("eve", email="bob@strasse.example"),
            None,
            False,
            id="a-neighbour-in-unicode",
        ),
        pytest.param(
            asked("ann", "bob@straße.example"),
            Identity("bob", email="bob@straße.example"),
            None,
            True,
            id="named-in-unicode",
        ),
        pytest.param(asked("ann"), BOB, None, False, id="a-stranger"),
        pytest.param(asked("ann"), ROOT, None, True, id="an-admin"),
        pytest.param(asked("ann"), ANONYMOUS, None, False, id="nobody"),
        pytest.param(asked("ann"), BOB, "Bob@example.com", True, id="who-is-responsible"),
        pytest.param(asked(None), ANN, None, False, id="of-nobody"),
        pytest.param(asked(None), ROOT, None, True, id="of-nobody-by-an-admin"),
        pytest.param(asked("ann", "bob"), BOB, None, True, id="named-by-id"),
        pytest.param(asked("ann", "BOB@example.com"), BOB, None, True, id="named-by-e-mail"),
        pytest.param(asked("ann", "bob"), ANN, None, False, id="the-owner-is-not-named"),
        pytest.param(asked("ann", "bob"), ROOT, None, False, id="an-admin-is-not-named"),
        pytest.param(asked("ann", "bob"), ANN, "ann", False, id="nor-who-is-responsible"),
        pytest.param(asked("ann", "$owner", "bob"), ANN, None, True, id="the-owner-by-token"),
        pytest.param(asked(None, "$owner"), ANONYMOUS, None, False, id="no-owner-is-nobody"),
        pytest.param(asked(None, "$owner"), ROOT, None, False, id="no-owner-is-no-admin"),
        pytest.param(asked("ann", "$speaker"), ANN, None, False, id="no-speaker-is-nobody"),
        pytest.param(asked("ann", "$speaker", "bob"), BOB, None, True, id="a-token-and-a-name"),
    ],
)
def test_who_may_decide(
    approval: Approval, caller: Identity, responsible: str | None, *, may: bool
) -> None:
    assert may_decide(approval, caller, responsible=responsible, open_threads=False) is may


def test_keys_decide_ownerless_threads_where_that_was_said() -> None:
    assert may_decide(asked(None), ANONYMOUS, responsible=None, open_threads=True)
    assert not may_decide(asked("ann"), ANONYMOUS, responsible=None, open_threads=True)
    assert not may_decide(asked(None, "bob"), ANONYMOUS, responsible=None, open_threads=True)


@pytest.mark.req("APR-28", "ACC-02")
def test_a_missing_approval_is_refused_in_the_words_of_a_foreign_one() -> None:
    with pytest.raises(Forbidden) as foreign:
        check_may_decide(asked("ann"), BOB, responsible=None, open_threads=True)
    with pytest.raises(Forbidden) as missing:
        check_may_decide(None, BOB, responsible=None, open_threads=True)

    assert foreign.value.message == missing.value.message
