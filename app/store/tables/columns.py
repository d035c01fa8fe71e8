"""Columns as every table spells them."""

from sqlalchemy import DateTime, func, text
from sqlalchemy.dialects.postgresql import JSON

TIME = DateTime(timezone=True)
COPIED_JSON = JSON(none_as_null=True)
"""JSON that is only ever copied: Postgres keeps the bytes as they were encoded."""

ZERO = {"server_default": text("0")}
NOW = {"server_default": func.now()}
ROOM = {"fillfactor": 70}
"""Rows of tables that are updated all the time have room, so that the updates are HOT."""
