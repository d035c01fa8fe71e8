"""Errors as HTTP shows them: ``{code, message, data?}`` with the code's status.

What is about us (``INTERNAL``) becomes one sentence without content; the log has the rest.
"""

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.domain.errors import AgentFault, ChatError, NotFound
from app.domain.storable import Json
from app.http.reply import reply
from app.protocol.errors import HTTP_STATUS

log = logging.getLogger(__name__)

_OURS = "something went wrong on our side"
_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"www-authenticate": "Bearer"},
    413: {"connection": "close"},  # else the server reads, and drops, the rest of the body
}


def fault_response(error: Exception, *, where: str) -> Response:
    """Return the response for whatever a handler raised; logs what the client is not told."""
    match error:
        case ChatError() if error.code in HTTP_STATUS and error.code != "INTERNAL":
            body: dict[str, Json] = {"code": error.code, "message": error.message}
            data = error.data
        case HTTPException(status_code=404):
            return fault_response(NotFound("no such address"), where=where)
        case HTTPException(status_code=405):
            body, data = {"code": "INVALID_ARGUMENT", "message": "no such method here"}, None
            return reply(body, status=405, headers=dict(error.headers or {}))
        case _:
            if not isinstance(error, AgentFault):  # the caller of the team's code logged that one
                log.error("%s failed", where, exc_info=error)
            body, data = {"code": "INTERNAL", "message": _OURS}, None
    status = HTTP_STATUS[body["code"]]  # type: ignore[index]  # one of the codes, looked up above
    headers = _HEADERS.get(status, {})
    if data is not None:
        return reply({**body, "data": dict(data)}, status=status, headers=headers)
    return reply(body, status=status, headers=headers)
