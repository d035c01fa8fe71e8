"""What operators say over the code of agents, in memory."""

from collections.abc import Collection
from dataclasses import replace

from app.domain.errors import IllegalTransition
from app.domain.override import (
    DRAFT,
    AllowModels,
    AuditEntry,
    Changed,
    DiscardDraft,
    Govern,
    Governed,
    Override,
    OverrideVersion,
    Publish,
    SaveDraft,
    Standing,
)
from app.domain.ports import AnnounceWrites
from app.domain.ports.overrides import Decide
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES, TableWrite, TableWrites
from app.testing.memory_database import MemoryDatabase


def _tell_nobody(writes: TableWrites) -> None:
    del writes


class MemoryOverrides:
    """Implements ``app.domain.ports.OverrideStore``."""

    def __init__(self, database: MemoryDatabase, announce: AnnounceWrites = _tell_nobody) -> None:
        self._db = database
        self._announce = announce

    async def override(self, agent: str, version: int) -> Override | None:
        """See ``OverrideReader.override``."""
        await self._db.turn()
        found = self._one(agent, version)
        return None if found is None else found.content

    async def governed(self, agents: Collection[str] | None = None) -> Governed:
        """See ``GovernanceReader.governed``."""
        await self._db.turn()
        return self._governed(agents)

    async def draft(self, agent: str) -> OverrideVersion | None:
        """See ``OverrideStore.draft``."""
        await self._db.turn()
        return self._db.drafts.get(agent)

    async def versions(self, agent: str, limit: int) -> list[OverrideVersion]:
        """See ``OverrideStore.versions``."""
        await self._db.turn()
        return list(reversed(self._db.overrides[agent]))[:limit]

    async def audit(self, agent: str | None, limit: int) -> list[AuditEntry]:
        """See ``OverrideStore.audit``."""
        await self._db.turn()
        found = [each for each in self._db.audit if agent in {None, each.agent}]
        return found[::-1][:limit]

    async def change(
        self, agent: str, by: str | None, decide: Decide, *, restores: int | None = None
    ) -> int | None:
        """See ``OverrideStore.change``."""
        await self._db.turn()
        published = self._db.overrides[agent]
        changed = decide(
            Standing(
                draft=self._db.drafts.get(agent),
                newest=published[-1] if published else None,
                restorable=self._one(agent, restores) if restores else None,
                governed=self._governed([agent]),
                models_in_force={
                    slug: each[-1].content.model
                    for slug, each in self._db.overrides.items()
                    if each and each[-1].content.model is not None
                },
            )
        )
        version, rows = self._carry_out(agent, by, changed)
        if changed.action is not None:
            detail = {**changed.detail, **({} if version is None else {"version": version})}
            place = len(self._db.audit) + 1
            entry = AuditEntry(place, self._db.now(), by, agent, changed.action, detail)
            self._db.audit.append(entry)
            rows[AUDIT] = 1
        self._announce({table: TableWrite(count, None) for table, count in rows.items()})
        return version

    def _carry_out(
        self, agent: str, by: str | None, changed: Changed
    ) -> tuple[int | None, dict[str, int]]:
        db, now = self._db, self._db.now()
        match changed.change:
            case SaveDraft(content):
                db.drafts[agent] = OverrideVersion(DRAFT, content, by, now)
                return None, {OVERRIDES: 1}
            case DiscardDraft():
                return None, {OVERRIDES: int(db.drafts.pop(agent, None) is not None)}
            case Publish(content, note, takes_draft):
                version = len(db.overrides[agent]) + 1
                db.overrides[agent].append(OverrideVersion(version, content, by, now, note))
                gone = takes_draft and db.drafts.pop(agent, None) is not None
                return version, {OVERRIDES: 1 + int(gone)}
            case Govern(governance):
                db.governed = replace(db.governed, agents={**db.governed.agents, agent: governance})
                return None, {GOVERNANCE: 1}
            case AllowModels(models):
                db.governed = replace(db.governed, models=models)
                return None, {GOVERNANCE: 1}
            case _:
                raise IllegalTransition(f"no such change: {changed.change}")

    def _one(self, agent: str, version: int) -> OverrideVersion | None:
        published = self._db.overrides[agent]
        return published[version - 1] if 0 < version <= len(published) else None

    def _governed(self, agents: Collection[str] | None) -> Governed:
        known = self._db.governed
        found = {slug: it for slug, it in known.agents.items() if agents is None or slug in agents}
        return replace(known, agents=found)
