"""The text of a turn so far, as Redis holds it: appended by one drive, read by those who join.

Laws, all kept inside one script, so that no reader sees a half:

* only the thread's fence writes, and it must match exactly;
* the newest attempt of the newest turn is all there is: its first delta deletes what was before;
* a delta is appended only where the text ends (``units``, UTF-16 code units as JavaScript counts
  them, computed by the writer because Lua sees bytes); offset 0 replaces the part;
* what is stored is published, and nothing else.
"""

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from app.domain.ports import ShownText
from app.domain.run import Usage
from app.keyspace.keys import LIVE_TEXT_TTL, ThreadKeys
from app.keyspace.script import Reply, Script, milliseconds

READ_LIVE_TEXT = """
local function fields_of(live)
  local flat, fields = redis.call('HGETALL', live), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end
local function parts_of(fields)
  local parts = {}
  for name in pairs(fields) do
    local part = string.match(name, '^kind:(%d+)$')
    if part then parts[#parts + 1] = part end
  end
  return parts
end
local function shown(live)
  local fields, found = fields_of(live), {}
  for _, part in ipairs(parts_of(fields)) do
    local text = redis.call('GET', live .. ':' .. part)
    if text then
      found[#found + 1] = {fields.run, fields.turn, part, fields['kind:' .. part], text,
        fields.attempt, fields['units:' .. part], fields.cost or ''}
    end
  end
  return found
end
local function forget(live)
  for _, part in ipairs(parts_of(fields_of(live))) do redis.call('DEL', live .. ':' .. part) end
  redis.call('DEL', live)
end
"""
"""Lua functions for scripts that read or delete live text."""

_APPEND = Script(
    READ_LIVE_TEXT
    + """
local fence, live, text_key = KEYS[1], KEYS[2], KEYS[3]
local epoch, run, turn, attempt, part, kind = unpack(ARGV, 1, 6)
local offset, units, text, cost, channel, payload, ttl = unpack(ARGV, 7, 13)
if redis.call('GET', fence) ~= epoch then return -1 end
local fields = fields_of(live)
if fields.run == run then
  local newer = tonumber(fields.turn) - tonumber(turn)
  if newer == 0 then newer = tonumber(fields.attempt) - tonumber(attempt) end
  if newer > 0 then return -2 end
end
local same = fields.run == run and fields.turn == turn and fields.attempt == attempt
if offset ~= '0' and not (same and fields['units:' .. part] == offset
    and redis.call('EXISTS', text_key) == 1) then
  return 0
end
if not same then
  forget(live)
  fields = {}
  redis.call('HSET', live, 'run', run, 'turn', turn, 'attempt', attempt)
end
redis.call(offset == '0' and 'SET' or 'APPEND', text_key, text)
redis.call('HSET', live, 'kind:' .. part, kind, 'units:' .. part, units, 'cost', cost)
redis.call('PEXPIRE', live, ttl)
redis.call('PEXPIRE', text_key, ttl)
for _, other in ipairs(parts_of(fields)) do redis.call('PEXPIRE', live .. ':' .. other, ttl) end
redis.call('PUBLISH', channel, payload)
return 1
"""
)

_SHOWN = Script(READ_LIVE_TEXT + "return shown(KEYS[1])")


@dataclass(frozen=True, slots=True)
class Append:
    """One delta of one part.

    Attributes:
        offset: where it begins in the part, in UTF-16 code units.
        units: the length of the part after it, in the same units.
        cost: of the request so far, as JSON; empty when nothing is known.
        payload: what the channel's subscribers get.
    """

    epoch: int
    run_id: str
    turn: int
    attempt: int
    part: int
    kind: str
    offset: int
    units: int
    text: str
    cost: str
    payload: bytes


class Appended(IntEnum):
    """What became of a delta."""

    STORED = 1
    GAP = 0
    """The text does not end at ``offset``: send the whole part with offset 0."""
    FENCED = -1
    """The thread's fence is missing or another one."""
    OUTDATED = -2
    """A newer turn or attempt has begun."""


def queue_append(pipeline: Pipeline, at: ThreadKeys, delta: Append) -> None:
    """Add an append to a pipeline; its answer is an ``Appended`` or an error."""
    _APPEND.queue(
        pipeline,
        (at.fence, at.live, at.part(delta.part)),
        (
            delta.epoch,
            delta.run_id,
            delta.turn,
            delta.attempt,
            delta.part,
            delta.kind,
            delta.offset,
            delta.units,
            delta.text,
            delta.cost,
            at.tokens,
            delta.payload,
            milliseconds(LIVE_TEXT_TTL),
        ),
    )


async def load_append(redis: Redis) -> None:
    """Teach the server what ``queue_append`` calls."""
    await _APPEND.load(redis)


async def read_shown(redis: Redis, at: ThreadKeys) -> tuple[ShownText, ...]:
    """Return the text so far of the thread's newest turn."""
    return shown_texts(await _SHOWN.call(redis, (at.live,)))


def shown_texts(answer: Reply) -> tuple[ShownText, ...]:
    """Return what ``shown`` (Lua) answered, by part."""
    rows = cast("list[list[bytes]]", answer)
    return tuple(sorted((_shown_text(row) for row in rows), key=lambda shown: shown.part))


def _shown_text(row: list[bytes]) -> ShownText:
    run_id, turn, part, kind, text, attempt, units, cost = row
    return ShownText(
        run_id=run_id.decode(),
        turn=int(turn),
        part=int(part),
        kind=kind.decode(),
        text=text.decode(),
        attempt=int(attempt),
        units=int(units),
        cost=Usage.from_json(json.loads(cost)) if cost else None,
    )
