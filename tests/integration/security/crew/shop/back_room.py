"""A function in a module of a folder."""

from app import QueryContext, query


@query(internal=True)
async def count_cash(ctx: QueryContext) -> int:
    """Count it: for server code."""
    return 7
