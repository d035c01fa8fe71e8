"""A ring as arq has it: its function's name, its body, and the two scripts that move it.

Times are Redis's own, so a worker whose clock is behind the gateway's does not let a ring wait.
"""

import json
import secrets
from typing import Any

from arq.constants import job_key_prefix
from arq.jobs import serialize_job
from arq.utils import timestamp_ms
from redis.asyncio import Redis

from app.keyspace import Keys
from app.keyspace.keys import DOORBELL_TTL
from app.keyspace.script import Script, milliseconds

RING = "ring"
"""The name of the job function."""

MAX_WAITING = 10_000
"""A bell that ten thousand rings are waiting to sound needs no more: each wakes a worker, and a
worker that is awake claims until nothing is queued."""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

_RING = Script(
    _NOW
    + """
local job, doorbell, nudges = KEYS[1], KEYS[2], KEYS[3]
local id, body, ttl, most = unpack(ARGV)
if redis.call('ZCARD', doorbell) >= tonumber(most) then return 0 end
redis.call('SET', job, body, 'PX', ttl)
redis.call('ZADD', doorbell, now, id)
redis.call('RPUSH', nudges, id)
redis.call('LTRIM', nudges, -most, -1)
redis.call('PEXPIRE', doorbell, ttl)
redis.call('PEXPIRE', nudges, ttl)
return 1
"""
)

# The removal from the queue is the claim: one winner, and nothing left for arq's own recovery,
# which would find it after the longest time-out of any function (field cases B05, B06).
_TAKE = Script(
    _NOW
    + """
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if due and tonumber(due) <= now then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return tonumber(due)
end
return false
"""
)

_PASS_ON = Script("redis.call('LPUSH', KEYS[1], ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2])")


async def put(redis: Redis, keys: Keys, run_id: str) -> None:
    """Ring once, under an id that was never used: arq refuses one that it remembers."""
    id_ = f"{keys.namespace}.{run_id}.{secrets.token_hex(6)}"
    body = serialize_job(RING, (run_id,), {}, None, timestamp_ms(), serializer=encode)
    await _RING.call(
        redis,
        (f"{job_key_prefix}{id_}", keys.doorbell, keys.nudges),
        (id_, body, milliseconds(DOORBELL_TTL), MAX_WAITING),
    )


async def take(redis: Redis, queue: str, id_: str) -> int | None:
    """Take a job out of the queue; return when it was due, ``None`` if another was quicker."""
    due = await _TAKE.call(redis, (queue,), (id_,))
    return due if isinstance(due, int) else None


async def pass_on(redis: Redis, nudges: str, id_: bytes) -> None:
    """Give a nudge back, for another worker."""
    await _PASS_ON.call(redis, (nudges,), (id_, milliseconds(DOORBELL_TTL)))


def encode(job: dict[str, Any]) -> bytes:
    """Return a job's form in Redis: JSON, so that nobody who can write there runs code here.

    arq wants to serialize results and errors too, even where it does not keep them.
    """
    return json.dumps(job, default=repr).encode()


def decode(stored: bytes) -> dict[str, Any]:
    """Return what ``encode`` wrote."""
    job: dict[str, Any] = json.loads(stored)
    return job
