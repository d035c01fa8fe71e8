"""What operators say over the code of agents, and who may use them.

A change holds one lock of the whole deployment, taken before anything is read: people make
changes, and there are few.  Runs and starts read without it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.domain.errors import IllegalTransition
from app.domain.override import (
    DRAFT,
    AllowModels,
    AuditEntry,
    Changed,
    DiscardDraft,
    Govern,
    Governance,
    Governed,
    Override,
    OverrideVersion,
    Publish,
    SaveDraft,
    Standing,
)
from app.domain.ports import AnnounceWrites
from app.domain.ports.overrides import Decide
from app.domain.storable import encode
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES, TableWrite
from app.store.database import Database
from app.store.executors import Executor
from app.store.rows import parse_json

Row = Any

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('agent_overrides', 0))"
_COLUMNS = "version, content, author, note, at"
_ONE = f"SELECT {_COLUMNS} FROM agent_overrides WHERE agent = $1 AND version = $2"
_PUBLISHED = f"""
SELECT {_COLUMNS} FROM agent_overrides
 WHERE agent = $1 AND version > 0 ORDER BY version DESC LIMIT $2
"""
_IN_FORCE = """
SELECT DISTINCT ON (agent) agent, content FROM agent_overrides
 WHERE version > 0 ORDER BY agent, version DESC
"""
_GOVERNED = """
SELECT agent, use_list, approve_list, approvers, manual_minutes, models FROM agent_governance
 WHERE $1::text[] IS NULL OR agent = ANY ($1)
"""
_AUDIT = """
SELECT id, at, actor, agent, action, detail FROM agent_audit
 WHERE $1::text IS NULL OR agent = $1 ORDER BY id DESC LIMIT $2
"""
_SAVE = """
INSERT INTO agent_overrides (agent, version, content, author, note, at)
VALUES ($1, $2, $3::text::json, $4, $5, clock_timestamp())
    ON CONFLICT (agent, version) DO UPDATE
   SET content = excluded.content, author = excluded.author, at = excluded.at
 WHERE agent_overrides.version = 0
"""
_DISCARD = "DELETE FROM agent_overrides WHERE agent = $1 AND version = 0 RETURNING agent"
_GOVERN = """
INSERT INTO agent_governance (agent, use_list, approve_list, approvers, manual_minutes)
VALUES ($1, $2, $3, $4::text::json, $5)
    ON CONFLICT (agent) DO UPDATE
   SET use_list = excluded.use_list, approve_list = excluded.approve_list,
       approvers = excluded.approvers, manual_minutes = excluded.manual_minutes
"""
_ALLOW = """
INSERT INTO agent_governance (agent, models) VALUES ('', $1)
    ON CONFLICT (agent) DO UPDATE SET models = excluded.models
"""
_NOTE = """
INSERT INTO agent_audit (at, actor, agent, action, detail)
VALUES (clock_timestamp(), $1, $2, $3, $4::text::json)
"""
_DEPLOYMENT = ""


class PostgresOverrides:
    """Implements ``app.domain.ports.OverrideStore``."""

    def __init__(self, database: Database, announce: AnnounceWrites) -> None:
        self._db = database
        self._announce = announce

    async def override(self, agent: str, version: int) -> Override | None:
        """See ``OverrideReader.override``."""
        found = await _one(self._db, agent, version)
        return None if found is None else found.content

    async def governed(self, agents: Collection[str] | None = None) -> Governed:
        """See ``GovernanceReader.governed``."""
        return await _governed(self._db, agents)

    async def draft(self, agent: str) -> OverrideVersion | None:
        """See ``OverrideStore.draft``."""
        return await _one(self._db, agent, DRAFT)

    async def versions(self, agent: str, limit: int) -> list[OverrideVersion]:
        """See ``OverrideStore.versions``."""
        return [_version(row) for row in await self._db.fetch(_PUBLISHED, agent, limit)]

    async def audit(self, agent: str | None, limit: int) -> list[AuditEntry]:
        """See ``OverrideStore.audit``."""
        return [
            AuditEntry(**{**dict(row.items()), "detail": parse_json(row["detail"])})
            for row in await self._db.fetch(_AUDIT, agent, limit)
        ]

    async def change(
        self, agent: str, by: str | None, decide: Decide, *, restores: int | None = None
    ) -> int | None:
        """See ``OverrideStore.change``."""

        async def once(connection: Executor) -> tuple[int | None, dict[str, int]]:
            await connection.fetch(_LOCK)
            standing = await _standing(connection, agent, restores)
            changed = decide(standing)
            return await _carry_out(connection, agent, by, standing, changed)

        published, rows = await self._db.transact(once)
        self._announce({table: TableWrite(count, None) for table, count in rows.items()})
        return published


async def _standing(executor: Executor, agent: str, restores: int | None) -> Standing:
    newest = await executor.fetch(_PUBLISHED, agent, 1)
    models = {
        row["agent"]: Override.from_json(parse_json(row["content"])).model
        for row in await executor.fetch(_IN_FORCE)
    }
    return Standing(
        draft=await _one(executor, agent, DRAFT),
        newest=_version(newest[0]) if newest else None,
        restorable=await _one(executor, agent, restores) if restores else None,
        governed=await _governed(executor, [agent]),
        models_in_force={slug: model for slug, model in models.items() if model is not None},
    )


async def _carry_out(
    executor: Executor, agent: str, by: str | None, standing: Standing, changed: Changed
) -> tuple[int | None, dict[str, int]]:
    """Write a change; return the version that it published, and how many rows of which table."""
    published: int | None = None
    detail = dict(changed.detail)
    match changed.change:
        case SaveDraft(content):
            await executor.fetch(_SAVE, agent, DRAFT, encode(content.to_json()), by, None)
            rows = {OVERRIDES: 1}
        case DiscardDraft():
            rows = {OVERRIDES: len(await executor.fetch(_DISCARD, agent))}
        case Publish(content, note, takes_draft):
            published = 1 if standing.newest is None else standing.newest.version + 1
            await executor.fetch(_SAVE, agent, published, encode(content.to_json()), by, note)
            gone = await executor.fetch(_DISCARD, agent) if takes_draft else []
            rows = {OVERRIDES: 1 + len(gone)}
            detail["version"] = published
        case Govern(governance):
            approvers = {tool: list(each) for tool, each in governance.approvers.items()}
            await executor.fetch(
                _GOVERN,
                agent,
                _list(governance.use),
                _list(governance.approve),
                encode(approvers) if approvers else None,
                governance.manual_minutes,
            )
            rows = {GOVERNANCE: 1}
        case AllowModels(models):
            await executor.fetch(_ALLOW, _list(models))
            rows = {GOVERNANCE: 1}
        case _:
            raise IllegalTransition(f"no such change: {changed.change}")
    if changed.action is not None:
        await executor.fetch(_NOTE, by, agent, changed.action, encode(detail))
        rows[AUDIT] = 1
    return published, rows


async def _one(executor: Executor, agent: str, version: int) -> OverrideVersion | None:
    rows = await executor.fetch(_ONE, agent, version)
    return _version(rows[0]) if rows else None


async def _governed(executor: Executor, agents: Collection[str] | None) -> Governed:
    wanted = None if agents is None else [_DEPLOYMENT, *agents]
    rows = {row["agent"]: row for row in await executor.fetch(_GOVERNED, wanted)}
    deployment = rows.pop(_DEPLOYMENT, None)
    models = None if deployment is None else deployment["models"]
    return Governed(
        {agent: _governance(row) for agent, row in rows.items()},
        None if models is None else tuple(models),
    )


def _governance(row: Row) -> Governance:
    approvers: Mapping[str, Sequence[str]] = parse_json(row["approvers"]) or {}
    return Governance(
        _tuple(row["use_list"]),
        _tuple(row["approve_list"]),
        {tool: tuple(each) for tool, each in approvers.items()},
        row["manual_minutes"],
    )


def _version(row: Row) -> OverrideVersion:
    return OverrideVersion(
        row["version"],
        Override.from_json(parse_json(row["content"])),
        row["author"],
        row["at"],
        row["note"],
    )


def _tuple(stored: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(stored)


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
