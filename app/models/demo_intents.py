"""What a text asks for, as far as the scripted model understands it.  Pure functions on text."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

_PLACE = re.compile(r"\b(?:in|for|at)\s+(?:the\s+)?([^.?!;:]+)", re.IGNORECASE)
_NEXT_WISH = re.compile(
    r"\b(?:and|then|also)\s+(?:where|what|how|look|check|refund|show|tell|order|call|find)\b.*",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r",|&|/|\band\b|\bor\b", re.IGNORECASE)
_NO_CITY: Final = re.compile(
    r"\b(?:today|tomorrow|tonight|now|right|please|this|week|weekend|like|me|the)\b", re.IGNORECASE
)
_ORDERS = re.compile(
    r"\borders\s+(#?\d{3,8}(?:(?:\s*(?:,|&|\band\b))+\s*#?\d{3,8})*)", re.IGNORECASE
)
_ORDER = re.compile(r"(?:\borders?\s*(?:number|no\.?|#)?\s*|#)(\d{3,8})\b", re.IGNORECASE)
_BARE_NUMBER = re.compile(r"(?<![$\d.])\b(\d{4,8})\b(?!\s*(?:dollars?|usd|bucks))", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\$\s?(\d+(?:\.\d{1,2})?)|\b(\d+(?:\.\d{1,2})?)\s*(?:dollars?|usd|bucks)\b", re.IGNORECASE
)
_CALL = re.compile(r"\bcall\s+`?([A-Za-z0-9_-]+)`?(?:\s+with)?\s*", re.IGNORECASE)
_TIMES = re.compile(r"\b(\d{1,4})\s+times\b", re.IGNORECASE)
_NAME = re.compile(
    r"\b(?i:my name is|i am called|call me)\s+([^\W\d_][\w'-]*)|\bI(?:'m| am)\s+([A-Z][\w'-]*)"
)


@dataclass(frozen=True, slots=True)
class DemoCall:
    """A call that the scripted model makes."""

    name: str
    arguments: dict[str, Any]


def wants_weather(text: str) -> bool:
    """Whether the weather is asked for."""
    return bool(
        re.search(r"\b(?:weather|forecast|temperature|rain(?:ing)?)\b", text, re.IGNORECASE)
    )


def wants_refund(text: str) -> bool:
    """Whether money is to be given back."""
    return bool(re.search(r"\b(?:refund|money back|reimburse)", text, re.IGNORECASE))


def cities_in(text: str) -> list[str]:
    """Return the cities that follow ``in`` or ``for``, at most four."""
    found = _PLACE.search(text)
    if found is None:
        return []
    listed = _BETWEEN.split(_NEXT_WISH.sub("", found[1]))
    cities = [" ".join(_NO_CITY.sub("", each).split()) for each in listed]
    named = [city if city[0].isupper() else city.title() for city in cities if city]
    return [city for city in dict.fromkeys(named) if len(city.split()) <= 3][:4]


def listed_in(text: str) -> list[str]:
    """Return what a text enumerates: ``hemp, jute and sisal``; at most four."""
    listed = (" ".join(each.split()).lower() for each in _BETWEEN.split(text))
    return [each for each in dict.fromkeys(listed) if each][:4]


def order_in(text: str) -> str | None:
    """Return the number of the order that is meant."""
    found = _ORDER.search(text) or _BARE_NUMBER.search(text)
    return found[1] if found else None


def orders_in(text: str) -> list[str]:
    """Return the numbers of orders that a text enumerates: ``orders 1001, 1002 and 1003``."""
    found = _ORDERS.search(text)
    return list(dict.fromkeys(re.findall(r"\d+", found[1]))) if found else []


def cents_in(text: str) -> int | None:
    """Return an amount of dollars in cents."""
    found = _AMOUNT.search(text)
    return round(float(found[1] or found[2]) * 100) if found else None


def name_in(text: str) -> str | None:
    """Return the name by which somebody introduces himself."""
    found = _NAME.search(text)
    return (found[1] or found[2]) if found else None


def commands_in(text: str) -> list[list[DemoCall]]:
    """Return the calls that a text spells out, turn by turn.

    ``call NAME {json}`` is a call; several of them are made in one turn, ``then`` begins
    another turn, and ``N times`` repeats the last turn.
    """
    turns: list[list[DemoCall]] = []
    for wish in re.split(r"\bthen\b", text, flags=re.IGNORECASE):
        calls = [DemoCall(found[1], _json_at(wish, found.end())) for found in _CALL.finditer(wish)]
        repeated = _TIMES.search(wish)
        turns.extend([calls] * (int(repeated[1]) if repeated else 1) if calls else [])
    return turns


def _json_at(text: str, start: int) -> dict[str, Any]:
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
