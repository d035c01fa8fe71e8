"""Rows that belong to somebody, behind gates of the team's own, and what no client may call."""

from datetime import timedelta
from typing import Any

from sqlmodel import Field, SQLModel, col, select

from app import (
    ActionContext,
    Forbidden,
    MutationContext,
    NotFound,
    QueryContext,
    action,
    mutation,
    query,
)


class Vault(SQLModel, table=True):
    """What people keep."""

    __tablename__ = "vault"

    id: int | None = Field(default=None, primary_key=True)
    owner: str
    what: str


class Visit(SQLModel, table=True):
    """Who came in, as a function saw him."""

    __tablename__ = "visits"

    id: int | None = Field(default=None, primary_key=True)
    who: str | None
    roles: str
    scopes: str | None
    place: str


@query
async def mine(ctx: QueryContext) -> list[str]:
    """Show the caller's own."""
    rows = await ctx.db.exec(select(Vault).where(col(Vault.owner) == ctx.auth.user_id))
    return [row.what for row in rows]


@query
async def open_one(ctx: QueryContext, number: int) -> str:
    """Show one to its owner; it is not there for anybody else."""
    row = await ctx.db.get(Vault, number)
    if row is None or row.owner != ctx.auth.user_id:
        raise NotFound(f"nothing is kept under {number}")
    return row.what


@query
async def for_keepers(ctx: QueryContext) -> list[str]:
    """Show everything to whoever has the role."""
    if "keeper" not in ctx.auth.roles:
        raise Forbidden("for keepers only")
    return [row.what for row in await ctx.db.exec(select(Vault))]


@query
async def echo_nothing(ctx: QueryContext, given: Any = None) -> int:  # noqa: ANN401  # whatever comes
    """Take anything."""
    return 0


@query(internal=True)
async def read_all(ctx: QueryContext) -> list[str]:
    """Show everything: for server code."""
    return [row.what for row in await ctx.db.exec(select(Vault))]


@mutation(internal=True)
async def note_visit(ctx: MutationContext, place: str) -> None:
    """Note who came in."""
    scopes = None if ctx.auth.scopes is None else " ".join(sorted(ctx.auth.scopes))
    roles = " ".join(sorted(ctx.auth.roles))
    ctx.db.add(Visit(who=ctx.auth.user_id, roles=roles, scopes=scopes, place=place))


@action(internal=True)
async def empty_out(ctx: ActionContext) -> str:
    """Throw everything away: for server code."""
    return "thrown away"


@mutation
async def keep(ctx: MutationContext, what: str) -> None:
    """Keep something of the caller's."""
    ctx.db.add(Vault(owner=ctx.auth.user_id or "nobody", what=what))


@action
async def visit(ctx: ActionContext, place: str) -> None:
    """Have the caller's visit noted."""
    await ctx.run("vault:note_visit", {"place": place})


@action
async def peep(ctx: ActionContext) -> object:
    """Ask for what keepers see, as the caller."""
    return await ctx.run("vault:for_keepers")


@mutation
async def visit_later(ctx: MutationContext, place: str) -> None:
    """Have the caller's visit noted in a moment."""
    await ctx.scheduler.run_after(timedelta(0), "vault:note_visit", {"place": place})


@action
async def peep_and_tell(ctx: ActionContext) -> None:
    """Note what keepers see, if the caller may see it."""
    seen = await ctx.run("vault:for_keepers")
    await ctx.run("vault:note_visit", {"place": str(seen)})


@mutation
async def peep_later(ctx: MutationContext) -> None:
    """Have it noted in a moment."""
    await ctx.scheduler.run_after(timedelta(0), "vault:peep_and_tell")
