"""The loop's watch counts only what it has itself seen, and names who holds the loop up."""

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from app.store.loop_watch import LOOK_EVERY_S, LoopWatch


@dataclass
class Scene:
    """A loop that moves when it is let, a clock that is set, and a process that is not killed."""

    now_s: float = 0.0
    kills: list[float] = field(default_factory=list)

    def watch(self, stuck_after_s: float = 10) -> LoopWatch:
        """Return a watch of the running loop; it has seen the loop move once."""
        made = LoopWatch(
            asyncio.get_running_loop(),
            stuck_after_s=stuck_after_s,
            clock=lambda: self.now_s,
            kill=lambda: self.kills.append(self.now_s),
        )
        made.look()
        return made

    def look(self, watch: LoopWatch, seconds: float, every: float = LOOK_EVERY_S) -> None:
        """Look again and again while the loop stands still for so long."""
        for _ in range(round(seconds / every)):
            self.now_s += every
            watch.look()


async def test_a_loop_that_moves_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    watch = scene.watch(stuck_after_s=1)

    for _ in range(40):
        scene.look(watch, LOOK_EVERY_S)
        await asyncio.sleep(0)

    assert (scene.kills, caplog.records) == ([], [])


async def test_whoever_holds_the_loop_up_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    watch = scene.watch()
    task = asyncio.current_task()
    assert task is not None
    task.set_name("run 42 (support)")

    scene.look(watch, 3)

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "run 42 (support)" in record.getMessage()
    assert "scene.look(watch, 3)" in record.getMessage()
    assert scene.kills == []


async def test_each_blockage_is_named(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    watch = scene.watch()

    for _ in range(2):
        scene.look(watch, 1)
        await asyncio.sleep(0)
        scene.look(watch, LOOK_EVERY_S)
        await asyncio.sleep(0)

    assert len(caplog.records) == 2


async def test_a_loop_that_never_moves_again_ends_the_process() -> None:
    scene = Scene()
    watch = scene.watch(stuck_after_s=10)

    scene.look(watch, 9)
    spared = list(scene.kills)
    scene.look(watch, 2)

    assert spared == []
    assert scene.kills[0] == pytest.approx(10, abs=2 * LOOK_EVERY_S)


async def test_a_process_that_was_frozen_is_not_taken_for_stuck() -> None:
    scene = Scene()
    watch = scene.watch(stuck_after_s=10)

    scene.look(watch, 3600, every=3600)
    await asyncio.sleep(0)
    scene.look(watch, 1)

    assert scene.kills == []
