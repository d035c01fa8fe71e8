"""Finds the team's own callable for tokens, after its folder was loaded."""

import inspect
import sys

from app.http.custom import CustomTokens
from app.main.load_agents import PACKAGE
from app.main.refusal import Refusal


def custom_tokens(name: str) -> CustomTokens:
    """Return what ``AUTHENTICATE`` names, ready to judge tokens.

    Args:
        name: ``agents.module:function``; the module was imported already.

    Raises:
        Refusal: there is no such function, or it could not be called with a token; says which.
    """
    module_name, _, function_name = name.partition(":")
    if module_name.split(".")[0] != PACKAGE or not function_name.isidentifier():
        raise Refusal(f"AUTHENTICATE={name} is to be {PACKAGE}.MODULE:FUNCTION")
    module = sys.modules.get(module_name)
    if module is None:
        raise Refusal(f"AUTHENTICATE={name}: there is no module {module_name} in your folder")
    function = getattr(module, function_name, None)
    if function is None:
        raise Refusal(f"AUTHENTICATE={name}: {module_name} has no {function_name}")
    if not inspect.iscoroutinefunction(function):
        raise Refusal(f"AUTHENTICATE={name} is to be an async function: async def ...(token)")
    try:
        inspect.signature(function).bind("token")
    except TypeError:
        raise Refusal(f"AUTHENTICATE={name} is to take one argument, the token") from None
    return CustomTokens(function, name)
