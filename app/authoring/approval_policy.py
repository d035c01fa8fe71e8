"""``needs_approval``: whether a person has to agree to a call, who that may be, and how.

``True``, a predicate over the validated arguments, or a policy that says more.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from app.authoring.place import Place
from app.domain.approval import NO_RULES, ApprovalRules, Decision

Predicate: TypeAlias = Callable[[Any], bool | Awaitable[bool]]

TOKENS: Final = ("$owner", "$speaker")
"""What may stand for a person: who owns the thread, and who said what caused the call."""

_LONGEST: Final = timedelta(days=3660)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """Who decides on a call, and how.

    Attributes:
        approvers: user ids, e-mails, ``"$owner"`` or ``"$speaker"``: these and nobody else, not
            even admins.  Without any, the thread's owner, the agent's own ``owner`` and admins
            may decide.  A token that stands for nobody names nobody.
        editable: the decider may change the arguments.
        when: only calls for which this holds wait; a predicate over the arguments.
        expires_in: for how long a call waits, a duration or seconds; by default for ever.
        on_expiry: what then counts as decided.
    """

    approvers: Sequence[str] = ()
    editable: bool = False
    when: Predicate | None = None
    expires_in: timedelta | float | None = None
    on_expiry: Literal["denied", "approved"] = "denied"

    @property
    def rules(self) -> ApprovalRules:
        """What is stored with each call that waits."""
        expires = self.expires_in
        return ApprovalRules(
            tuple(self.approvers),
            self.editable,
            timedelta(seconds=expires) if isinstance(expires, int | float) else expires,
            Decision(self.on_expiry),
        )

    def check(self, place: Place) -> None:
        """Refuse a policy that cannot be kept.

        Raises:
            DeclarationError: says what was expected.
        """
        if isinstance(self.approvers, str) or "" in self.approvers:
            raise place.error("approvers is a list of user ids, e-mails, '$owner' or '$speaker'")
        for each in self.approvers:
            if each.startswith("$") and each not in TOKENS:
                raise place.error(f"{each!r} stands for nobody: there are {' and '.join(TOKENS)}")
        if self.when is not None and not callable(self.when):
            raise place.error("when is a predicate over the call: lambda call: call.amount > 5000")
        if self.on_expiry not in {each.value for each in Decision}:
            raise place.error(f"on_expiry is 'denied' or 'approved', got {self.on_expiry!r}")
        after = self.rules.expires_after
        if after is not None and not timedelta(0) < after <= _LONGEST:
            raise place.error(
                f"expires_in is longer than nothing, and {_LONGEST.days} days at most"
            )


NeedsApproval: TypeAlias = bool | Predicate | ApprovalPolicy


def check_needs_approval(needs: NeedsApproval, place: Place) -> None:
    """Refuse what is no ``needs_approval``.

    Raises:
        DeclarationError: says what was expected.
    """
    if isinstance(needs, ApprovalPolicy):
        needs.check(place)
    elif not (isinstance(needs, bool) or callable(needs)):
        raise place.error(
            "needs_approval is True, False, a predicate over the call, or an ApprovalPolicy"
        )


def rules_of(needs: NeedsApproval) -> ApprovalRules:
    """Return what is stored with each call that waits."""
    return needs.rules if isinstance(needs, ApprovalPolicy) else NO_RULES
