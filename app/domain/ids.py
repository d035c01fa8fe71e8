"""Identifiers: time-ordered, so that rows written together lie together.

Ids are lower-case UUID version 7 text (RFC 9562, section 5.7).  The shell hands
in the milliseconds and the random bits, so that this stays pure.
"""

import uuid

NAMESPACE = uuid.UUID("6f0d6f0a-3c5e-5d52-9a41-7b1f9f2f6f11")


def uuid7(unix_ms: int, random_bits: int) -> str:
    """Return a version 7 UUID for ``unix_ms`` (Unix time, milliseconds).

    Args:
        unix_ms: at most 48 bits.
        random_bits: at least 74 random bits; higher ones are ignored.

    Source: RFC 9562, "Universally Unique IDentifiers", section 5.7.
    """
    rand_a = (random_bits >> 62) & 0xFFF
    rand_b = random_bits & 0x3FFF_FFFF_FFFF_FFFF
    value = (unix_ms & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b
    return str(uuid.UUID(int=value))


def child_id(parent_run_id: str, step: str, kind: str) -> str:
    """Return the id that ``step`` of a run always gives to the ``kind`` it creates."""
    return str(uuid.uuid5(NAMESPACE, f"{parent_run_id}/{step}/{kind}"))
