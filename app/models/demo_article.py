"""What the scripted model does as the shipped editor and researcher: ``agents/research.py``.

The editor asks about each topic, then adds a paragraph on each one that something was
found of.  The researcher looks one fibre up.
"""

import re
from collections.abc import Set
from typing import Final

from app.models.demo_conversation import Conversation, Result
from app.models.demo_intents import DemoCall, listed_in

RESEARCHER, PARAGRAPH, FIBRE = "researcher", "add_paragraph", "look_up_fibre"

WHICH_TOPIC: Final = "What shall I write about? I know someone who knows about fibres."
_WRITE = re.compile(r"\b(?:write|article|essay)\b.*?\b(?:about|on|of)\s+([^.?!;:]+)", re.IGNORECASE)
_FIBRE = re.compile(r"\b(?:what is|about)\s+(?:the\s+)?(\w[\w-]*)", re.IGNORECASE)


def wants_article(text: str) -> bool:
    """Whether something is to be written."""
    return bool(re.search(r"\b(?:write|article|essay)\b", text, re.IGNORECASE))


def article_calls(talk: Conversation, tools: Set[str]) -> list[DemoCall]:
    """Return the next calls of the editor or the researcher, if there are any."""
    if FIBRE in tools and not talk.results:
        fibre = _FIBRE.search(talk.asked)
        return [DemoCall(FIBRE, {"name": fibre[1]})] if fibre else []
    if not {RESEARCHER, PARAGRAPH} <= tools:
        return []
    if talk.results:
        return [] if talk.result_of(PARAGRAPH) else _paragraphs(talk)
    topics = _WRITE.search(talk.asked)
    asked = (f"What is {topic}?" for topic in (listed_in(topics[1]) if topics else []))
    return [DemoCall(RESEARCHER, {"message": question}) for question in asked]


def article_told(talk: Conversation) -> str | None:
    """Return what the editor says when all is written."""
    written = [result for result in talk.results if result.name == PARAGRAPH]
    if not written:
        return None
    headings = " and ".join(str(result.arguments.get("heading")) for result in written)
    unknown = [_topic(result) for result in talk.results if _is_unknown(result)]
    missing = f" Nothing was found about {' or '.join(unknown)}." if unknown else ""
    return f"The article has a paragraph on {headings} now.{missing}"


def _paragraphs(talk: Conversation) -> list[DemoCall]:
    return [
        DemoCall(PARAGRAPH, {"heading": _topic(found), "text": str(found.content)})
        for found in talk.results
        if found.name == RESEARCHER and not _is_unknown(found)
    ]


def _topic(result: Result) -> str:
    asked = str(result.arguments.get("message", ""))
    return asked.removeprefix("What is ").rstrip("?").capitalize()


def _is_unknown(result: Result) -> bool:
    """Whether nothing was found, or the researcher could not be asked."""
    said = str(result.content)
    return result.name == RESEARCHER and (result.is_error or "Nothing is known" in said)
