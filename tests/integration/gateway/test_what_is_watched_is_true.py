"""Random writes over random schemas: whoever watches a query is shown what a fresh read says.

Through reconnects, gateways that leave and crash, announcements that are lost, and programs that
announce nothing.  ``REACTIVE_SEED=...`` repeats a course, ``REACTIVE_COURSES=300`` runs so many.
"""

import os

import pytest

from tests.support.reactive.course import Course, seed_of
from tests.support.reactive_world import create_tables, reactive_world

pytestmark = [
    pytest.mark.req("IMP-02", "IMP-03", "SUB-05"),
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning"),  # of what the drawn writes do
]

ROUNDS = 25
COURSES = int(os.environ.get("REACTIVE_COURSES", "60"))


async def run(seed: str, url: str, rounds: int) -> None:
    print(f"REACTIVE_SEED={seed}")  # noqa: T201 - pytest shows it when the course fails
    course = Course(seed)
    create_tables(url, course.schema.metadata)
    async with reactive_world(url, course.schema.metadata, course.declared) as world:
        await course.run(world, rounds)


@pytest.mark.parametrize("number", range(4))
async def test_every_last_push_equals_a_fresh_read(database_url: str, number: int) -> None:
    await run(seed_of(number), database_url, ROUNDS // 2)


@pytest.mark.long
@pytest.mark.parametrize("number", range(COURSES))
async def test_every_last_push_equals_a_fresh_read_in_many_courses(
    database_url: str, number: int
) -> None:
    await run(seed_of(number), database_url, ROUNDS)
