"""What the laws do not allow, said in sentences: must always find nothing."""

from datetime import timedelta

from app.domain.run import FINAL, PARKED
from app.testing.memory_database import MemoryDatabase

FORGOTTEN_AFTER = timedelta(minutes=1)


def stranded(db: MemoryDatabase) -> list[str]:
    """Return one sentence for each thread, run or timer that nobody looks after."""
    sentences = [
        f"thread {thread.key} is busy with run {thread.live_run}, which has ended"
        for thread in db.threads.values()
        if thread.live_run is not None and db.runs[thread.live_run].status in FINAL
    ]
    sentences += [
        f"run {run.id} is parked though what it waits for is there"
        for run in db.runs.values()
        if run.status in PARKED and db.waits[run.id].is_met(db.steps[run.id])
    ]
    sentences += [
        f"thread {thread.key} is free though something waits for it"
        for thread in db.threads.values()
        if thread.live_run is None and (db.unread(thread.id) or db.held_back(thread.id))
    ]
    sentences += [
        f"timer {key} is due since {timer.due_at}"
        for key, timer in db.timers.items()
        if timer.due_at <= db.now() - FORGOTTEN_AFTER
    ]
    return sentences
