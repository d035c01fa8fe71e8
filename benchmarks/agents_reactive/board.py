"""Boards of five items: queries that read rows by key, queries that read a table, and one write.

Serve them with ``ropewalk dev --agents benchmarks/agents_reactive``.
"""

from sqlmodel import Field, SQLModel, col, func, select

from app import MutationContext, QueryContext, mutation, query


class Item(SQLModel, table=True):
    """Written all the time."""

    __tablename__ = "items"

    id: int = Field(primary_key=True)
    board: int = Field(index=True)
    seq: int = 0


class Calm(SQLModel, table=True):
    """Never written."""

    __tablename__ = "calm_items"

    id: int = Field(primary_key=True)
    board: int = Field(index=True)
    seq: int = 0


@query
async def rows(ctx: QueryContext, board: int) -> dict[str, int]:
    """Return a board: it depends on rows by key."""
    statement = select(Item.id, Item.seq).where(Item.board == board).order_by(col(Item.id))
    found = (await ctx.db.exec(statement)).all()
    return {"seq": max(seq for _, seq in found), **{str(id_): seq for id_, seq in found}}


@query
async def totals(ctx: QueryContext, least: int) -> dict[str, int]:
    """Return what is on all boards but the first ones: it depends on the table."""
    statement = select(func.max(Item.seq), func.count()).where(col(Item.board) >= least)
    newest, count = (await ctx.db.exec(statement)).one()
    return {"seq": newest, "count": count}


@query
async def calm(ctx: QueryContext, board: int) -> dict[str, int]:
    """Return a board that nobody writes."""
    found = (await ctx.db.exec(select(Calm.seq).where(col(Calm.board) >= board))).all()
    return {"seq": 0, "count": len(found)}


@mutation
async def write(ctx: MutationContext, id: int, seq: int) -> None:  # noqa: A002
    """Change one item; what was sent later stays."""
    item = await ctx.db.get_one(Item, id, with_for_update=True)
    item.seq = max(item.seq, seq)
