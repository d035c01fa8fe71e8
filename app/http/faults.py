"""Errors as HTTP shows them: ``{code, message, data?}`` with the code's status.

What is about us (``INTERNAL``) becomes one sentence without content; the log has the rest.
"""

import logging
import math
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.domain.errors import AgentFault, InvalidArgument, NotFound
from app.http.reply import reply
from app.protocol.errors import HTTP_STATUS
from app.protocol.faults import Fault, fault_of

log = logging.getLogger(__name__)

_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"www-authenticate": "Bearer"},
    413: {"connection": "close"},  # else the server reads, and drops, the rest of the body
}


def fault_response(error: Exception, *, where: str) -> Response:
    """Return the response for whatever a handler raised; logs what the client is not told."""
    match error:
        case HTTPException(status_code=404):
            return _shown(fault_of(NotFound("no such address")), 404)
        case HTTPException(status_code=405):
            return _shown(fault_of(InvalidArgument("no such method here")), 405, error.headers)
        case _:
            fault = fault_of(error)
            # Whoever called the team's code has logged its fault already.
            if fault.is_ours and not isinstance(error, AgentFault):
                log.error("%s failed", where, exc_info=error)
            return _shown(fault, HTTP_STATUS[fault.code])


def _shown(fault: Fault, status: int, more: Mapping[str, str] | None = None) -> Response:
    body: dict[str, object] = {"code": fault.code, "message": fault.message}
    headers = {**_HEADERS.get(status, {}), **_when(fault), **(more or {})}
    if fault.data is not None:
        try:
            return reply({**body, "data": dict(fault.data)}, status=status, headers=headers)
        except ValueError:  # no JSON: left out, as on the socket
            log.warning("the data of %s is no JSON: %r", fault.code, fault.message)
    return reply(body, status=status, headers=headers)


def _when(fault: Fault) -> Mapping[str, str]:
    """Return when to come again, if the fault says so: in whole seconds, never too early."""
    after_s = (fault.data or {}).get("retryAfter")
    if not isinstance(after_s, int | float) or not math.isfinite(after_s):
        return {}
    return {"retry-after": str(max(0, math.ceil(after_s)))}
