"""A named tool becomes a real one when all functions and agents are known."""

from app.authoring.agent import NamedTool
from app.authoring.agent_tool import AgentTool
from app.authoring.function_tool import FunctionCatalog, FunctionTool
from app.authoring.tools import Offer


def bound_tool(tool: NamedTool, catalog: FunctionCatalog) -> Offer:
    """Return what a model is offered.

    Raises:
        DeclarationError: it names a function or an agent that there is not.
    """
    match tool:
        case FunctionTool():
            return tool.bound(catalog)
        case AgentTool():
            return tool.bound()
        case _:
            return tool
