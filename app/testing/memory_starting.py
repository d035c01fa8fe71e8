"""Starting runs: what a busy thread does with one more, and who comes next when it is free."""

from dataclasses import replace

from app.domain.errors import Conflict, Forbidden
from app.domain.message import MessageStatus, Role, plain_text, user_key
from app.domain.ports import OnBusy, StartedRun, StartRun
from app.domain.record import NewMessage
from app.domain.run import Ending, Promoted, Run, RunStatus, Terms, advance
from app.domain.signal import NewSignal, Signal, Signalled, SignalMode, messages_of
from app.domain.storable import decode
from app.domain.thread import Thread, ThreadStatus
from app.testing.memory_database import MemoryDatabase, Transaction
from app.testing.memory_settling import settle
from app.testing.memory_writes import append


def start_run(db: MemoryDatabase, start: StartRun, tx: Transaction) -> StartedRun:
    """Start a run, or do with it what its policy says; see ``RunStore.start``."""
    if start.run_id in db.runs:
        return _started(db, start.run_id)
    if start.message_id in db.read_signals:
        reader = db.read_signals[start.message_id]
        return _steered(db.threads[db.runs[reader].thread_id], reader)
    if start.message_id in db.signals:
        thread = db.threads[db.signals[start.message_id].thread_id]
        return _steered(thread, thread.live_run)
    thread = db.meant(start.thread_key) or _new_thread(db, start, tx)
    if thread.owner is not None and thread.owner != start.owner and not start.as_admin:
        raise Forbidden(f"thread {start.thread_key!r} belongs to somebody else")
    if thread.live_run is None:
        return begin(db, thread, start, tx)
    live = db.runs[thread.live_run]
    match start.on_busy:
        case OnBusy.REJECT:
            raise Conflict(
                f"thread {start.thread_key!r} has an unfinished run",
                {"runId": live.id, "status": live.status.value},
            )
        case OnBusy.REPLACE:
            thread = settle(db, live, Ending.cancelled(), tx)
            return begin(db, thread, start, tx)
        case OnBusy.QUEUE:
            return _hold_back(db, thread, start, tx)
        case OnBusy.STEER:
            return _steer(db, thread, start, tx)


def begin(db: MemoryDatabase, thread: Thread, start: StartRun, tx: Transaction) -> StartedRun:
    """Start a run on a free thread."""
    db.runs[start.run_id] = _run(db, thread, start, RunStatus.QUEUED)
    _enter(db, db.runs[start.run_id], (_user_message(start),), tx, title=start.title)
    return _started(db, start.run_id)


def put_signal(db: MemoryDatabase, new: NewSignal, tx: Transaction) -> Signalled | None:
    """Store a signal, once; see ``RunStore.signal``."""
    if new.thread_id not in db.threads:
        return None
    stored = db.signals.get(new.id)
    shown = db.selected.get(new.thread_id, new.thread_id)
    thread = db.threads[stored.thread_id if stored else shown]
    if new.id in db.signals or new.id in db.read_signals:
        reader = db.read_signals.get(new.id)
        return Signalled(woke=reader == new.run_id, run_id=reader or thread.live_run)
    db.signals[new.id] = Signal(
        new.id, thread.id, new.mode, new.text, new.sender, db.now(), new.author, new.dedupe
    )
    db.terms[new.id] = new.terms
    if thread.live_run is not None:
        db.put(replace(thread, version=thread.version + 1, wakes=thread.wakes + 1), tx)
        return Signalled(woke=False, run_id=thread.live_run)
    follow_up(db, thread, tx, run_id=new.run_id)
    return Signalled(woke=True, run_id=new.run_id)


def follow_up(
    db: MemoryDatabase, thread: Thread, tx: Transaction, *, run_id: str | None = None
) -> None:
    """Give a free thread to what waits for it: signals first, then the oldest pending run."""
    signals = db.unread(thread.id)
    if signals:
        terms = db.terms[signals[-1].id]
        run = Run(
            run_id or tx.ids.new(),
            thread.id,
            terms.agent or thread.agent,
            RunStatus.QUEUED,
            policy=dict(terms.policy),
            agent_version=terms.agent_version,
            override=db.in_force(terms.agent or thread.agent),
            created_at=db.now(),
        )
        db.runs[run.id] = run
        _limit(db, run.id, terms)
        for signal in signals:
            del db.signals[signal.id]
            db.read_signals[signal.id] = run.id
        _enter(db, run, messages_of(run.id, signals), tx)
        return
    for run in db.held_back(thread.id)[:1]:
        start = db.held.pop(run.id)
        db.runs[run.id] = replace(run, status=advance(run.status, Promoted()).status)
        _enter(db, db.runs[run.id], (_user_message(start),), tx, title=start.title)


def end(db: MemoryDatabase, run: Run, ending: Ending, tx: Transaction) -> None:
    """End a live run and give its thread, and those of its children, to who comes next."""
    settle(db, run, ending, tx)
    for fence in list(tx.ended):
        thread = db.threads[fence.thread_id]
        if thread.live_run is None:
            follow_up(db, thread, tx)


def _enter(
    db: MemoryDatabase,
    run: Run,
    rows: tuple[NewMessage, ...],
    tx: Transaction,
    *,
    title: str | None = None,
) -> None:
    """Make a queued run its thread's live one, its messages in the thread."""
    db.runs[run.id] = replace(db.runs[run.id], queued_at=db.now())
    db.start_clock(run.id)
    thread = db.threads[run.thread_id]
    thread = replace(
        thread,
        live_run=run.id,
        status=ThreadStatus.QUEUED,
        error=None,
        title=thread.title or title,
        version=thread.version + 1,
    )
    db.put(append(db, thread, run.id, rows), tx)
    if run.id not in tx.queued:
        tx.queued.append(run.id)


def _hold_back(db: MemoryDatabase, thread: Thread, start: StartRun, tx: Transaction) -> StartedRun:
    db.runs[start.run_id] = _run(db, thread, start, RunStatus.PENDING)
    db.held[start.run_id] = start
    db.put(replace(thread, version=thread.version + 1), tx)
    return _started(db, start.run_id)


def _steer(db: MemoryDatabase, thread: Thread, start: StartRun, tx: Transaction) -> StartedRun:
    text = plain_text(decode(start.parts))  # type: ignore[arg-type]  # our own JSON
    sender = f"user:{start.author}" if start.author else "anonymous"
    db.signals[start.message_id] = Signal(
        start.message_id,
        thread.id,
        SignalMode.STEER,
        text,
        sender,
        db.now(),
        start.author,
        start.dedupe,
    )
    db.terms[start.message_id] = replace(start.terms, agent=start.agent)
    thread = db.put(replace(thread, version=thread.version + 1, wakes=thread.wakes + 1), tx)
    return _steered(thread, thread.live_run)


def _steered(thread: Thread, run_id: str | None) -> StartedRun:
    return StartedRun(run_id or "", thread.id, thread.key, thread.version, steered=True)


def _started(db: MemoryDatabase, run_id: str) -> StartedRun:
    run = db.runs[run_id]
    thread = db.threads[run.thread_id]
    held = [each.id for each in db.held_back(thread.id)]
    position = held.index(run_id) + 1 if run_id in held else None
    return StartedRun(run_id, thread.id, thread.key, thread.version, position=position)


def _run(db: MemoryDatabase, thread: Thread, start: StartRun, status: RunStatus) -> Run:
    _limit(db, start.run_id, start.terms)
    return Run(
        start.run_id,
        thread.id,
        start.agent,
        status,
        policy=dict(start.terms.policy),
        agent_version=start.terms.agent_version,
        override=db.in_force(start.agent),
        parent=start.parent,
        created_at=db.now(),
    )


def _limit(db: MemoryDatabase, run_id: str, terms: Terms) -> None:
    if terms.timeout is not None:
        db.limits[run_id] = terms.timeout


def _user_message(start: StartRun) -> NewMessage:
    return NewMessage(
        start.message_id,
        user_key(start.run_id),
        Role.USER,
        MessageStatus.COMPLETE,
        start.parts,
        author=start.author,
        dedupe=start.dedupe,
    )


def _new_thread(db: MemoryDatabase, start: StartRun, tx: Transaction) -> Thread:
    if start.initial_state is not None:
        db.states[start.thread_id] = start.initial_state
    return db.put(
        Thread(
            start.thread_id,
            start.thread_key,
            start.agent,
            ThreadStatus.QUEUED,
            live_run=None,
            epoch=0,
            seq=0,
            version=0,
            wakes=0,
            owner=start.owner,
            created_at=db.now(),
        ),
        tx,
    )
