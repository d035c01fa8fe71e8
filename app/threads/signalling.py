"""What it takes to reach a conversation from outside: a request becomes a signal or an event."""

from pydantic_core import PydanticSerializationError, to_jsonable_python

from app.domain.errors import InvalidArgument
from app.domain.identity import Identity
from app.domain.ports import Ids
from app.domain.run import Terms
from app.domain.signal import NewSignal, SignalMode
from app.domain.storable import encode
from app.threads.limits import MAX_EVENT_NAME, MAX_PAYLOAD
from app.threads.starting import checked_text

SERVER = "server"
"""Who sent a signal that no user sent."""


def signal_of(
    thread_id: str, message: str, mode: SignalMode, sender: Identity, *, terms: Terms, ids: Ids
) -> NewSignal:
    """Return the signal that puts ``message`` into a thread, under fresh ids.

    Args:
        thread_id: which one.
        message: what is said.
        mode: when it is read.
        sender: who says it.
        terms: of the run that it starts on an idle thread.
        ids: fresh ones.

    Raises:
        InvalidArgument: the message is blank or too long.
    """
    return NewSignal(
        id=ids.new(),
        thread_id=thread_id,
        mode=mode,
        text=checked_text(message),
        sender=SERVER if sender.user_id is None else f"user:{sender.user_id}",
        run_id=ids.new(),
        message_id=ids.new(),
        terms=terms,
    )


def checked_event(name: str) -> str:
    """Return the name of an event.

    Raises:
        InvalidArgument: it is empty, too long or unprintable.
    """
    if not (0 < len(name) <= MAX_EVENT_NAME and name.isprintable()):
        raise InvalidArgument(f"an event's name has 1 to {MAX_EVENT_NAME} printable characters")
    return name


def checked_payload(payload: object) -> str:
    """Return the JSON of what an event brings.

    Raises:
        InvalidArgument: JSON cannot say it, or it is too long.
    """
    try:
        text = encode(to_jsonable_python(payload, by_alias=True, inf_nan_mode="null"))
    except (TypeError, PydanticSerializationError) as error:
        raise InvalidArgument(f"an event's payload: {error}") from None
    if len(text) > MAX_PAYLOAD:
        raise InvalidArgument(f"an event's payload has at most {MAX_PAYLOAD} characters of JSON")
    return text
