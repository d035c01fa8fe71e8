"""``ThreadReader`` on Postgres: what feeds, HTTP and functions show.  Never locks.

A snapshot is one statement, so that the messages, the approvals and the version it carries
are of one moment; the lists in it come as JSON, which is what they are about to become.
"""

from collections.abc import Collection, Mapping, Sequence

from app.domain.approval import Approval
from app.domain.branching import Branch, Branches
from app.domain.identity import ADMIN, Identity
from app.domain.message import Message, plain_text
from app.domain.ports import ThreadSnapshot, WaitingSend
from app.domain.run import Run, RunStatus
from app.domain.thread import Thread
from app.store.executors import Executor, Row
from app.store.rows import (
    APPROVALS,
    MESSAGES,
    RUNS,
    SIGNALS,
    THREAD,
    THREADS,
    approval_from,
    columns,
    listed,
    message_from,
    output_from,
    parsed_already,
    run_from,
    signal_from,
    thread_from,
)

_FIND = f"{THREADS} WHERE t.key = $1"
_RUN = f"{RUNS} WHERE r.id = $1"
_NEWEST = "ORDER BY m.seq DESC LIMIT $2"
_CHANGED = "AND m.version > $3 ORDER BY m.version LIMIT $2"
_PAGE = f"{MESSAGES} WHERE m.thread = $1 AND m.seq < coalesce($3, 1::bigint << 62) {_NEWEST}"
_SEEN_BY = """
   AND ($2::text[] IS NULL OR (a.tool_call_id = ANY ($2) AND a.thread = $1))
   AND ($3 OR k.owner = $4::text OR k.agent = ANY ($6::text[])
        OR EXISTS (SELECT FROM json_array_elements_text(coalesce(
                          (SELECT v.approvers -> a.name FROM agent_governance v
                            WHERE v.agent = k.agent), a.rules -> 'approvers')) p
                    WHERE p NOT IN ('$owner', '$speaker')
                      AND (p = $4 OR p = $5::text
                           OR (octet_length(p) = char_length(p)
                               AND lower(p COLLATE "C") = lower($5 COLLATE "C")))))
"""
"""Those that the caller may see; names are compared as ``app.threads.people`` does."""
_OF_THREAD = f"WHERE (a.thread = $1::text OR a.root = $1) {_SEEN_BY}"
_OF_ALL = f"WHERE $1::text IS NULL {_SEEN_BY}"
_WAITING_FIRST = "ORDER BY a.requested_at, a.id LIMIT $7"
_DECIDED_LAST = "ORDER BY coalesce(a.decided_at, a.requested_at) DESC, a.id DESC LIMIT $7"
_SEES_ALL = Identity(roles=frozenset({ADMIN}))
_VERSIONS = "SELECT id, version FROM agent_threads WHERE id = ANY ($1::text[])"
_STATE = "SELECT state FROM agent_threads WHERE id = $1"
_TIMELINE = """
SELECT format('%s-%s', system_identifier,
              ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int) AS timeline
  FROM pg_control_system()
"""
"""The timeline is read from the place where the log is written: ``pg_control_checkpoint`` shows
a standby's old one until the first checkpoint after its promotion."""


def _whole(which_thread: str, which_messages: str, for_whom: str = "") -> str:
    """Return the statement that reads a thread, some of its messages and its open approvals."""
    return f"""
SELECT {columns(THREAD, "t")}, n.id AS run_id, n.status AS run_status, n.stopped,
       n.output,
       (SELECT json_agg(x ORDER BY x.seq)
          FROM ({MESSAGES} WHERE m.thread = t.id {for_whom} {which_messages}) x) AS messages,
       (SELECT json_agg(x ORDER BY x.requested_at, x.id)
          FROM ({APPROVALS} WHERE (a.thread = t.id OR a.root = t.id) {for_whom}
                   AND a.status = 'pending') x) AS approvals,
       (SELECT json_agg(x ORDER BY x.place)
          FROM ({SIGNALS} WHERE g.thread = t.id {for_whom} AND g.read_at IS NULL) x) AS signals,
       (SELECT json_agg(x ORDER BY x.place)
          FROM (SELECT p.id, p.input, p.place, p.created_at
                  FROM agent_runs p
                 WHERE p.thread = t.id {for_whom} AND p.status = 'pending') x) AS pending,
       (SELECT json_agg(x ORDER BY x.created_at, x.id)
          FROM (SELECT b.id, b.key, b.parent_branch, b.shared_seq, b.created_at
                  FROM agent_threads b
                 WHERE b.conversation = t.id {for_whom}) x) AS branches,
       coalesce(t.branch, t.id) AS selected,
       (SELECT c.key FROM agent_threads c WHERE c.id = t.conversation {for_whom}) AS conversation
  FROM agent_threads t
  LEFT JOIN LATERAL (SELECT r.id, r.status, r.stopped, r.output FROM agent_runs r
                      WHERE r.thread = t.id {for_whom} AND r.input IS NULL
                      ORDER BY r.finished_at DESC NULLS FIRST LIMIT 1) n ON true
 WHERE {which_thread}
"""


def _sessions(whose: str) -> str:
    """Return the statement that lists conversations, each with how its shown branch is doing.

    A page begins after one of the same list: somebody else's thread is none, so that nobody
    learns from his own list whether there is one, and how old.
    """
    own = columns(tuple(name for name in THREAD if name not in {"status", "error"}), "t")
    return f"""
SELECT {own}, coalesce(s.status, t.status) AS status,
       CASE WHEN s.id IS NULL THEN t.error ELSE s.error END AS error
  FROM agent_threads t LEFT JOIN agent_threads s ON s.id = t.branch
 WHERE t.agent = $1 {whose.format("t")} AND t.conversation IS NULL
   AND (t.active_at, t.id) < (coalesce((SELECT b.active_at FROM agent_threads b
                                         WHERE b.id = $2 {whose.format("b")}), 'infinity'),
                              coalesce($2, ''))
 ORDER BY t.active_at DESC, t.id DESC
 LIMIT $3
"""


_READABLE = "AND ($3::text[] IS NULL OR t.owner IS NULL OR t.owner = ANY ($3))"
_SNAPSHOT = _whole("t.key = $1", _NEWEST, _READABLE)
_DELTA = _whole("t.id = $1", _CHANGED)
_SESSIONS_OF_ALL = _sessions("")
_SESSIONS_OF_ONE = _sessions("AND {}.owner = $4")


class PostgresThreadReader:
    """Implements ``app.domain.ports.ThreadReader``."""

    def __init__(self, database: Executor) -> None:
        self._db = database

    async def find(self, key: str) -> Thread | None:
        """See ``ThreadReader.find``."""
        rows = await self._db.fetch(_FIND, key)
        return thread_from(rows[0]) if rows else None

    async def run(self, run_id: str) -> Run | None:
        """See ``ThreadReader.run``."""
        rows = await self._db.fetch(_RUN, run_id)
        return run_from(rows[0]) if rows else None

    async def page(self, thread_id: str, before: int | None, limit: int) -> list[Message]:
        """See ``ThreadReader.page``."""
        rows = await self._db.fetch(_PAGE, thread_id, limit, before)
        return [message_from(row) for row in reversed(rows)]

    async def snapshot(
        self, key: str, limit: int, readers: Collection[Identity] | None = None
    ) -> ThreadSnapshot | None:
        """See ``ThreadReader.snapshot``."""
        rows = await self._db.fetch(_SNAPSHOT, key, limit, _users(readers))
        return _snapshot(rows[0], limit) if rows else None

    async def delta(self, thread_id: str, after: int, limit: int) -> ThreadSnapshot | None:
        """See ``ThreadReader.delta``."""
        rows = await self._db.fetch(_DELTA, thread_id, limit + 1, after)
        return _snapshot(rows[0], limit) if rows else None

    async def approvals(
        self,
        *,
        key: str | None = None,
        everything: bool = False,
        calls: Sequence[str] | None = None,
        visible_to: Identity | None = None,
        agents: Sequence[str] = (),
        limit: int = 200,
    ) -> list[Approval]:
        """See ``ThreadReader.approvals``."""
        thread = None if key is None else await self.find(key)
        person, where = visible_to or _SEES_ALL, _OF_ALL if key is None else _OF_THREAD
        asked = (
            # A key that is not in use costs what a foreign one does: it is asked for all the same.
            None if key is None else thread.id if thread is not None else "",
            None if calls is None else list(calls),
            person.is_admin,
            person.user_id,
            person.email,
            list(agents),
        )
        found = await self._db.fetch(
            f"{APPROVALS} {where} AND a.status = 'pending' {_WAITING_FIRST}", *asked, limit
        )
        if everything and len(found) < limit:
            found = [
                *found,
                *await self._db.fetch(
                    f"{APPROVALS} {where} AND a.status <> 'pending' {_DECIDED_LAST}",
                    *asked,
                    limit - len(found),
                ),
            ]
        return [approval_from(row) for row in found]

    async def versions(self, thread_ids: Sequence[str]) -> Mapping[str, int]:
        """See ``ThreadReader.versions``."""
        rows = await self._db.fetch(_VERSIONS, list(thread_ids))
        return {row["id"]: row["version"] for row in rows}

    async def sessions(
        self, agent: str, owner: str | None, *, everybody: bool, before: str | None, limit: int
    ) -> list[Thread]:
        """See ``ThreadReader.sessions``."""
        if everybody:
            rows = await self._db.fetch(_SESSIONS_OF_ALL, agent, before, limit)
        elif owner is None:
            rows = []  # nobody owns the threads that have no owner
        else:
            rows = await self._db.fetch(_SESSIONS_OF_ONE, agent, before, limit, owner)
        return [thread_from(row) for row in rows]

    async def state(self, thread_id: str) -> str | None:
        """See ``ThreadReader.state``."""
        rows = await self._db.fetch(_STATE, thread_id)
        return rows[0]["state"] if rows else None

    async def timeline(self) -> str:
        """See ``ThreadReader.timeline``."""
        timeline: str = (await self._db.fetch(_TIMELINE))[0]["timeline"]
        return timeline


def _users(readers: Collection[Identity] | None) -> list[str] | None:
    """Return whose threads answer to these readers; ``None``: all do."""
    if readers is None or any(each.is_admin for each in readers):
        return None
    return [each.user_id for each in readers if each.user_id is not None]


def _snapshot(row: Row, limit: int) -> ThreadSnapshot:
    messages = listed(row["messages"], "created_at")
    approvals = listed(row["approvals"], "requested_at")
    return ThreadSnapshot(
        thread=thread_from(row),
        messages=[message_from(each, parse=parsed_already) for each in messages[:limit]],
        approvals=[approval_from(each, parse=parsed_already) for each in approvals],
        waiting=_waiting(row),
        run_id=row["run_id"],
        run_status=RunStatus(row["run_status"]) if row["run_status"] else None,
        stopped=row["stopped"],
        output=output_from(row["output"]),
        complete=len(messages) <= limit,
        branches=_branches(row),
        conversation=row["conversation"],
    )


def _branches(row: Row) -> Branches | None:
    """Return the threads of a root's conversation, if it has branches."""
    found = listed(row["branches"], "created_at")
    if not found:
        return None
    threads = [
        Branch(
            each["id"], each["key"], each["parent_branch"], each["shared_seq"], each["created_at"]
        )
        for each in found
    ]
    return Branches(
        row["selected"], [Branch(row["id"], row["key"], None, 0, row["created_at"]), *threads]
    )


def _waiting(row: Row) -> list[WaitingSend]:
    """Return the sends that wait, in the order in which they will be read."""
    signals = [signal_from(each) for each in listed(row["signals"], "created_at")]
    return [
        *(
            WaitingSend(
                signal.id,
                is_run=False,
                text=signal.text,
                created_at=signal.created_at,
                author=signal.author,
                dedupe=signal.dedupe,
            )
            for signal in signals
        ),
        *(
            WaitingSend(
                run["id"],
                is_run=True,
                text=plain_text(run["input"]["parts"]),
                created_at=run["created_at"],
                author=run["input"]["author"],
                dedupe=run["input"]["dedupe"],
            )
            for run in listed(row["pending"], "created_at")
        ),
    ]
