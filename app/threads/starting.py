"""What it takes to start a run: one place where a request becomes a ``StartRun``.

Every way in (functions, HTTP, the command line, later channels and triggers) comes
through here, so all of them keep the same bounds and the same defaults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.domain.errors import InvalidArgument
from app.domain.message import Part, plain_text, text_part
from app.domain.output_policy import form_policy
from app.domain.ports import Ids, OnBusy, StartRun
from app.domain.run import Terms
from app.domain.storable import Json, encode, storable_text
from app.threads.limits import (
    MAX_INPUT,
    MAX_KEY,
    MAX_PAYLOAD,
    MAX_TIMEOUT,
    MAX_TITLE,
    MAX_TURNS,
)
from app.threads.output_schema import OutputShape

TITLE_LENGTH = 60
"""Characters of a title that is made from the first input."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What somebody asks an agent.

    ``author`` wrote it; ``owner`` gets a new thread.  ``output_schema`` is the form that the answer
    has to have, in the place of the agent's, ``declared_output``.  The last four are the agent's,
    or what this start says instead.
    """

    agent: str
    text: str
    thread_key: str | None = None
    owner: str | None = None
    author: str | None = None
    title: str | None = None
    model: str | None = None
    max_turns: int | None = None
    output_schema: Mapping[str, Json] | None = None
    declared_output: Mapping[str, Json] | None = None
    dedupe: str | None = None
    as_admin: bool = False
    on_busy: OnBusy = OnBusy.REJECT
    agent_version: str | None = None
    timeout: timedelta | None = None
    initial_state: Json = None


def start_of(prompt: Prompt, ids: Ids) -> StartRun:
    """Return the start that ``prompt`` asks for, under fresh ids.

    Raises:
        InvalidArgument: a value is out of its bounds.
    """
    text = checked_text(prompt.text)
    title = title_of(text) if prompt.title is None else checked_title(prompt.title)
    return _start(prompt, [text_part(text)], title, ids)


def start_again(prompt: Prompt, parts: Sequence[Part], ids: Ids) -> StartRun:
    """Return the start of a run in a branch, under fresh ids: it is asked these parts.

    Raises:
        InvalidArgument: a value is out of its bounds.
    """
    return _start(prompt, parts, title_of(plain_text(list(parts))) or None, ids)


def _start(prompt: Prompt, parts: Sequence[Part], title: str | None, ids: Ids) -> StartRun:
    thread_id = ids.new()
    key = thread_id if prompt.thread_key is None else checked_key(prompt.thread_key)
    return StartRun(
        run_id=ids.new(),
        thread_id=thread_id,
        message_id=ids.new(),
        thread_key=key,
        agent=prompt.agent,
        parts=encode(list(parts)),
        owner=prompt.owner,
        author=prompt.author,
        title=title,
        dedupe=prompt.dedupe,
        terms=Terms(_policy(prompt), prompt.agent_version, checked_timeout(prompt.timeout)),
        as_admin=prompt.as_admin,
        on_busy=_on_busy(prompt),
        initial_state=checked_state(prompt.initial_state),
    )


def checked_key(key: str) -> str:
    """Return a thread key that can be stored, shown and put in an address.

    Raises:
        InvalidArgument: it is empty, too long, or holds a control character.
    """
    if not 0 < len(key) <= MAX_KEY:
        raise InvalidArgument(f"a thread key has 1 to {MAX_KEY} characters, got {len(key)}")
    if not key.isprintable():
        raise InvalidArgument("a thread key holds printable characters only")
    return key


def checked_title(title: str) -> str:
    """Return a title on one line.

    Raises:
        InvalidArgument: it is empty or too long.
    """
    line = " ".join(storable_text(title).split())
    if not 0 < len(line) <= MAX_TITLE:
        raise InvalidArgument(f"a title has 1 to {MAX_TITLE} characters, got {len(line)}")
    return line


def checked_text(text: str) -> str:
    """Return what somebody says as it can be stored.

    Raises:
        InvalidArgument: it is blank or too long.
    """
    if not text.strip():
        raise InvalidArgument("say something: the text is empty")
    if len(text) > MAX_INPUT:
        raise InvalidArgument(f"a text has at most {MAX_INPUT} characters, got {len(text)}")
    return storable_text(text)


def checked_state(state: Json) -> str | None:
    """Return the JSON of a thread's first state; ``None`` seeds nothing.

    Raises:
        InvalidArgument: it is too long.
    """
    if state is None:
        return None
    text = encode(state)
    if len(text) > MAX_PAYLOAD:
        raise InvalidArgument(f"a state has at most {MAX_PAYLOAD} characters of JSON")
    return text


def checked_timeout(timeout: timedelta | None) -> timedelta | None:
    """Return how long a run may take.

    Raises:
        InvalidArgument: it is out of its bounds.
    """
    if timeout is not None and not timedelta(0) < timeout <= MAX_TIMEOUT:
        raise InvalidArgument(f"a time limit is above 0 and up to {MAX_TIMEOUT.days} days")
    return timeout


def title_of(text: str) -> str:
    """Return a title made from a first input: its beginning, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line
    head = line[: TITLE_LENGTH - 1]
    cut = head.rpartition(" ")[0] if line[TITLE_LENGTH - 1] != " " else head
    # A text without a space in reach (a link, Chinese) is cut where the room ends.
    return f"{cut.rstrip() or head}…"


def _policy(prompt: Prompt) -> Mapping[str, Json]:
    policy: dict[str, Json] = {}
    if prompt.model is not None:
        if not prompt.model.strip():
            raise InvalidArgument("model: name one as provider:model, or leave it out")
        policy["model"] = prompt.model
    if prompt.max_turns is not None:
        if not 1 <= prompt.max_turns <= MAX_TURNS:
            raise InvalidArgument(f"maxTurns: from 1 to {MAX_TURNS}, got {prompt.max_turns}")
        policy["maxTurns"] = prompt.max_turns
    if prompt.output_schema is not None:
        OutputShape.of(prompt.output_schema)
    return policy | form_policy(prompt.output_schema, prompt.declared_output)


def _on_busy(prompt: Prompt) -> OnBusy:
    """Return what to do on a busy thread: an answer in a form of its own needs a run of its own.

    The agent's own form needs none: so answers the live run, unless it was asked for in another.
    """
    if prompt.output_schema is not None and prompt.on_busy is OnBusy.STEER:
        return OnBusy.QUEUE
    return prompt.on_busy
