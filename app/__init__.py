"""Ropewalk: a self-hosted, realtime chat backend for durable AI agents.

This is the one door for code under ``agents/``.  The names are handed on lazily:
``import app.domain`` must not load a model library, which takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.authoring.agent import Agent
    from app.authoring.agent_reference import agents
    from app.authoring.agent_tool import agent_as_tool
    from app.authoring.announcing import announce_writes, stop_announcing
    from app.authoring.approval_policy import ApprovalPolicy
    from app.authoring.contexts import ActionContext, MutationContext, QueryContext
    from app.authoring.crons import crons
    from app.authoring.function_tool import function_tool
    from app.authoring.functions import action, mutation, query
    from app.authoring.identity import Identity
    from app.authoring.refusals import (
        Conflict,
        Forbidden,
        InvalidArgument,
        NotFound,
        OutputMismatch,
        Unauthenticated,
    )
    from app.authoring.run_result import RunResult
    from app.authoring.tool_context import InstructionsContext, ToolContext, ToolError
    from app.authoring.tools import tool

__all__ = [
    "ActionContext",
    "Agent",
    "ApprovalPolicy",
    "Conflict",
    "Forbidden",
    "Identity",
    "InstructionsContext",
    "InvalidArgument",
    "MutationContext",
    "NotFound",
    "OutputMismatch",
    "QueryContext",
    "RunResult",
    "ToolContext",
    "ToolError",
    "Unauthenticated",
    "action",
    "agent_as_tool",
    "agents",
    "announce_writes",
    "crons",
    "function_tool",
    "mutation",
    "query",
    "stop_announcing",
    "tool",
]

_HOMES = {
    "agent": ("Agent",),
    "agent_reference": ("agents",),
    "agent_tool": ("agent_as_tool",),
    "approval_policy": ("ApprovalPolicy",),
    "announcing": ("announce_writes", "stop_announcing"),
    "contexts": ("ActionContext", "MutationContext", "QueryContext"),
    "crons": ("crons",),
    "function_tool": ("function_tool",),
    "functions": ("action", "mutation", "query"),
    "identity": ("Identity",),
    "refusals": (
        *("Conflict", "Forbidden", "InvalidArgument", "NotFound", "OutputMismatch"),
        "Unauthenticated",
    ),
    "run_result": ("RunResult",),
    "tool_context": ("InstructionsContext", "ToolContext", "ToolError"),
    "tools": ("tool",),
}
_MODULES = {name: f"app.authoring.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load the module that declares a name, the first time it is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module 'app' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
