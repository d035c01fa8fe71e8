"""The journal's Lua scripts as typed functions: each is one round trip.

A fence is ``EPOCH``, or ``closed:EPOCH`` from the moment that somebody ends the run until the
keys are dropped.  Only exactly ``EPOCH`` lets a write through.  An entry's value begins with a
count, so that entries come back in the order in which they were written: a tool's record fills
the row that its turn's record inserts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from redis.asyncio import Redis

from app.domain.ports import ShownText
from app.keyspace import ThreadKeys
from app.keyspace.keys import JOURNAL_TTL
from app.keyspace.live_text import READ_LIVE_TEXT, shown_texts
from app.keyspace.script import Reply, Script, milliseconds

_TTL_MS = milliseconds(JOURNAL_TTL)

_EPOCH_OF = """
local function epoch_of(fence)
  return fence and tonumber(string.match(fence, '(%d+)$')) or -1
end
local function entries_of(journal, prefix)
  local flat, found = redis.call('HGETALL', journal), {}
  for i = 1, #flat, 2 do
    if flat[i] ~= '#' then
      if string.sub(flat[i], 1, #prefix) == prefix then
        found[#found + 1] = flat[i + 1]
      else
        redis.call('HDEL', journal, flat[i])
      end
    end
  end
  return found
end
"""

_OPEN = Script(
    READ_LIVE_TEXT
    + _EPOCH_OF
    + """
local fence = redis.call('GET', KEYS[1])
local held = epoch_of(fence)
if held >= tonumber(ARGV[1]) then return held end
if fence and string.match(fence, '^closed') then forget(KEYS[3]) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return entries_of(KEYS[2], ARGV[2])
"""
)

_COMPLETE = Script("""
local fence, journal, epoch, ttl, name, record = KEYS[1], KEYS[2], unpack(ARGV, 1, 4)
if redis.call('GET', fence) ~= epoch then return -1 end
for i = 5, #ARGV do redis.call('HDEL', journal, ARGV[i]) end
local there = redis.call('HGET', journal, name)
if not there then
  redis.call('HSET', journal, name, redis.call('HINCRBY', journal, '#', 1) .. ' ' .. record)
end
redis.call('PEXPIRE', fence, ttl)
redis.call('PEXPIRE', journal, ttl)
return there
""")

_CLOSE = Script(
    READ_LIVE_TEXT
    + _EPOCH_OF
    + """
if epoch_of(redis.call('GET', KEYS[1])) > tonumber(ARGV[1]) then return {{}, {}} end
redis.call('SET', KEYS[1], 'closed:' .. ARGV[1], 'PX', ARGV[2])
return {entries_of(KEYS[2], ''), shown(KEYS[3])}
"""
)

_DROP = Script(
    READ_LIVE_TEXT
    + _EPOCH_OF
    + """
if epoch_of(redis.call('GET', KEYS[1])) > tonumber(ARGV[1]) then return 0 end
forget(KEYS[3])
return redis.call('DEL', KEYS[1], KEYS[2])
"""
)


@dataclass(frozen=True, slots=True)
class Fenced:
    """The fence is missing or another one; nothing was written."""


@dataclass(frozen=True, slots=True)
class HeldAbove:
    """The journal remembers this epoch, which is not below the one that asked."""

    epoch: int


async def open_journal(
    redis: Redis, at: ThreadKeys, epoch: int, run_id: str
) -> HeldAbove | list[bytes]:
    """Set the fence, drop the entries of other runs and return this run's.

    Live text that outlived the end of its run is dropped: it was taken in with that end.
    """
    keys = (at.fence, at.journal, at.live)
    answer = await _OPEN.call(redis, keys, (epoch, f"{run_id}/", _TTL_MS))
    if isinstance(answer, int):
        return HeldAbove(answer)
    return _in_order(cast("list[bytes]", answer))


async def complete_step(
    redis: Redis,
    at: ThreadKeys,
    epoch: int,
    *,
    name: str,
    record: bytes,
    confirmed: Sequence[str],
) -> Fenced | bytes | None:
    """Write an entry unless there is one, drop the confirmed ones; return the one there was."""
    answer = await _COMPLETE.call(
        redis, (at.fence, at.journal), (epoch, _TTL_MS, name, record, *confirmed)
    )
    if isinstance(answer, int):
        return Fenced()
    return _record(answer) if isinstance(answer, bytes) else None


async def close_journal(
    redis: Redis, at: ThreadKeys, epoch: int
) -> tuple[list[bytes], tuple[ShownText, ...]]:
    """Let no more writes of ``epoch`` or below through; return entries and shown text."""
    answer = await _CLOSE.call(redis, (at.fence, at.journal, at.live), (epoch, _TTL_MS))
    entries, shown = cast("tuple[list[bytes], Reply]", answer)
    return _in_order(entries), shown_texts(shown)


async def drop_journal(redis: Redis, at: ThreadKeys, epoch: int) -> None:
    """Delete the thread's keys unless a newer epoch holds them."""
    await _DROP.call(redis, (at.fence, at.journal, at.live), (epoch,))


def _in_order(entries: list[bytes]) -> list[bytes]:
    return [_record(entry) for entry in sorted(entries, key=_count)]


def _count(entry: bytes) -> int:
    return int(entry[: entry.index(b" ")])


def _record(entry: bytes) -> bytes:
    return entry[entry.index(b" ") + 1 :]
