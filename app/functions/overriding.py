"""What a change of an override comes to, as things stand.  Pure: the store calls it under its lock.

Each function returns a ``Decide``.  What would change nothing is refused, so that the list of
versions holds changes and nothing else.
"""

from dataclasses import replace
from types import EllipsisType

from app.domain.errors import Conflict, InvalidArgument, NotFound
from app.domain.override import (
    AS_CODED,
    AllowModels,
    Changed,
    DiscardDraft,
    Govern,
    Override,
    Publish,
    SaveDraft,
    Standing,
)
from app.domain.ports.overrides import Decide
from app.domain.storable import Json
from app.models.catalog import check_allowed
from app.models.resolve import ModelSource


def save_draft(
    content: Override, coded: ModelSource, over: Override | EllipsisType | None = ...
) -> Decide:
    """Return what writes the draft.

    Args:
        content: what it is to say.
        coded: the model of the code.
        over: the draft that it is written over, ``None`` for no draft; ``...``: any.
    """

    def decide(standing: Standing) -> Changed:
        there_is = None if standing.draft is None else standing.draft.content
        if over is not ... and there_is != over:
            raise Conflict(
                "the draft is another than was shown",
                {"content": None if there_is is None else there_is.to_json()},
            )
        _check_model(content, standing, coded)
        if content == standing.in_force:
            raise InvalidArgument(
                "content: this is what is in force already; discard the draft instead"
            )
        return Changed(SaveDraft(content))

    return decide


def discard_draft(shown: Override | None) -> Decide:
    """Return what throws the draft away; ``shown``: if it still says this."""

    def decide(standing: Standing) -> Changed:
        if standing.draft is None:
            raise NotFound("there is no draft")
        _check_shown(shown, standing.draft.content)
        return Changed(DiscardDraft())

    return decide


def publish(note: str | None, shown: Override | None, coded: ModelSource) -> Decide:
    """Return what puts the draft in force; ``shown``: if it still says this."""

    def decide(standing: Standing) -> Changed:
        draft = standing.draft
        if draft is None:
            raise NotFound("there is no draft to publish")
        content = draft.content
        _check_shown(shown, content)
        _check_model(content, standing, coded)
        _check_new(content, standing)
        action = "reset" if content == AS_CODED else "published"
        return Changed(Publish(content, note, takes_draft=True), action, _changes(content))

    return decide


def reset(note: str | None) -> Decide:
    """Return what puts the code in force again.  The draft stays."""

    def decide(standing: Standing) -> Changed:
        _check_new(AS_CODED, standing)
        return Changed(Publish(AS_CODED, note), "reset")

    return decide


def restore(version: int, note: str | None, coded: ModelSource) -> Decide:
    """Return what puts an older version in force, as a new one."""

    def decide(standing: Standing) -> Changed:
        old = standing.restorable
        if old is None:
            raise NotFound(f"there is no version {version}")
        _check_model(old.content, standing, coded)
        _check_new(old.content, standing)
        said = f"Version {version} again" if note is None else note
        detail: dict[str, Json] = {"from": version, **_changes(old.content)}
        return Changed(Publish(old.content, said), "restored", detail)

    return decide


def set_approvers(agent: str, tool: str, approvers: tuple[str, ...] | None) -> Decide:
    """Return what picks who decides a tool's calls; ``None``: those in code."""

    def decide(standing: Standing) -> Changed:
        governance = standing.governed.of(agent)
        before = governance.approvers.get(tool)
        if approvers == before:
            raise InvalidArgument("approvers: these are picked already")
        picked = {name: each for name, each in governance.approvers.items() if name != tool}
        if approvers is not None:
            picked[tool] = approvers
        changed = replace(governance, approvers=picked)
        detail = {"tool": tool, "before": _names(before), "after": _names(approvers)}
        return Changed(Govern(changed), "approvers", detail)

    return decide


def set_lists(agent: str, use: tuple[str, ...] | None, approve: tuple[str, ...] | None) -> Decide:
    """Return what says anew who may use an agent, and who may decide for it."""

    def decide(standing: Standing) -> Changed:
        before = standing.governed.of(agent)
        if (use, approve) == (before.use, before.approve):
            raise InvalidArgument("use, approve: this is what the lists say already")
        detail: dict[str, Json] = {
            "before": {"use": _names(before.use), "approve": _names(before.approve)},
            "after": {"use": _names(use), "approve": _names(approve)},
        }
        return Changed(Govern(replace(before, use=use, approve=approve)), "lists", detail)

    return decide


def set_minutes(agent: str, minutes: float | None) -> Decide:
    """Return what says how long a person takes for what a completed run of the agent does."""

    def decide(standing: Standing) -> Changed:
        before = standing.governed.of(agent)
        if minutes == before.manual_minutes:
            raise InvalidArgument("minutes: this is what is said already")
        detail: dict[str, Json] = {"before": before.manual_minutes, "after": minutes}
        return Changed(Govern(replace(before, manual_minutes=minutes)), "minutes", detail)

    return decide


def allow_models(models: tuple[str, ...] | None) -> Decide:
    """Return what says anew which models may be chosen."""

    def decide(standing: Standing) -> Changed:
        before = standing.governed.models
        if models == before:
            raise InvalidArgument("models: this is what the list says already")
        used = [
            f"{agent} ({model})"
            for agent, model in standing.models_in_force.items()
            if models is not None and model not in models and (before is None or model in before)
        ]
        if used:
            raise Conflict(
                f"models: overrides that are in force use others: {', '.join(used)}; "
                "publish another model there first"
            )
        detail = {"before": _names(before), "after": _names(models)}
        return Changed(AllowModels(models), "models", detail)

    return decide


def _check_shown(shown: Override | None, content: Override) -> None:
    if shown is not None and shown != content:
        raise Conflict("the draft is another than was shown", {"content": content.to_json()})


def _check_model(content: Override, standing: Standing, coded: ModelSource) -> None:
    if content.model is not None:
        check_allowed(content.model, standing.governed.models, coded=coded)


def _check_new(content: Override, standing: Standing) -> None:
    if content == standing.in_force:
        what = "the code is in force already" if content == AS_CODED else "it is in force already"
        raise Conflict(f"{what}, so nothing would change")


def _changes(content: Override) -> dict[str, Json]:
    return {"fields": list(content.to_json())}


def _names(names: tuple[str, ...] | None) -> Json:
    return None if names is None else list(names)
