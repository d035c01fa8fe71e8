"""What the scripted model does as the shipped order desk: ``agents/order_desk.py``.

It looks orders up, changes and cancels them, and gives the price back once it knows what was paid.
"""

import re
from collections.abc import Set
from typing import Any, Final

from app.models.demo_conversation import Conversation, Result
from app.models.demo_intents import DemoCall, wants_refund

LIST, CHANGE, CANCEL = "list_orders", "change_order", "cancel_order"
GIVE_BACK = "give_refund"

WHICH: Final = "Which order do you mean?"
_NUMBER = re.compile(
    r"(?:\border\s*(?:number|no\.?|#)?\s*|#|\b(?:cancel|refund)\s+)(\d{1,9})\b", re.IGNORECASE
)
_ONLY_A_NUMBER = re.compile(r"\s*(?:the\s+)?(\d{1,9})\s*[.!]?\s*")
_ADDRESS = re.compile(
    r"\b(?:send|ship|deliver|address)\b.*?\bto\s+(?!me\b)(.+?)[\s.!?]*$", re.IGNORECASE
)
_QUANTITY = re.compile(
    r"\b(?:make (?:it|that|them)|to|want|need)\s+(\d{1,3})\b"
    r"|\b(\d{1,3})\s+(?:pieces|of (?:it|them|those))\b",
    re.IGNORECASE,
)
_OF_ORDERS = re.compile(r"\borders?\b|\bwhere\b|\bstatus\b|\brefund", re.IGNORECASE)
_PAID: Final = frozenset({"paid", "shipped"})


def order_calls(talk: Conversation, tools: Set[str]) -> list[DemoCall]:
    """Return the next calls of the order desk, if there are any."""
    if LIST not in tools:
        return []
    wish, order = _wish(talk), _order_meant(talk)
    if talk.results:
        return _refund(talk, wish, order)
    if order is not None and _wants_cancel(wish):
        return [DemoCall(CANCEL, {"order_id": order})]
    changes = _changes(wish)
    if order is not None and changes:
        return [DemoCall(CHANGE, {"order_id": order, **changes})]
    is_about_orders = _wants_cancel(wish) or changes or _OF_ORDERS.search(wish)
    return [DemoCall(LIST, {})] if is_about_orders else []


def order_told(talk: Conversation, tools: Set[str]) -> str | None:
    """Return what the order desk says of what its tools have answered."""
    if LIST not in tools or not talk.results:
        return None
    newest = talk.results[-1]
    if newest.name not in {LIST, CHANGE, CANCEL, GIVE_BACK}:
        return None
    if newest.is_error:
        return _refusal(newest)
    if newest.name == LIST:
        return _listed(talk, _orders(newest))
    got = newest.content if isinstance(newest.content, dict) else {}
    if newest.name == CHANGE:
        where = f", to {got['shipTo']}" if got.get("shipTo") else ""
        return f"Done: order {got.get('id')} is {_what(got)} now, {_total(got)}{where}."
    if newest.name == CANCEL:
        return f"Done: order {got.get('id')} ({_what(got)}) is cancelled."
    return f"Done: {_total(got)} go back for order {got.get('id')}."


def dollars(cents: object) -> str:
    """Return an amount as it is spoken."""
    return f"{int(cents) / 100:.2f} dollars" if isinstance(cents, int | float) else str(cents)


def _wish(talk: Conversation) -> str:
    """Return what is wanted; who answers a question still wants what he wanted before."""
    answer = _answered(talk)
    return f"{talk.earlier[-1]} order {answer}" if answer and talk.earlier else talk.asked


def _answered(talk: Conversation) -> str | None:
    number = _ONLY_A_NUMBER.fullmatch(talk.asked)
    was_asked = bool(talk.assistant) and WHICH in talk.assistant[-1]
    return number[1] if number and was_asked else None


def _order_meant(talk: Conversation) -> int | None:
    """Return the order in this text, or the last one spoken of if no others are meant."""
    found = _NUMBER.search(_wish(talk))
    if found is None and not re.search(r"\borders\b", talk.asked, re.IGNORECASE):
        found = next((each for each in map(_NUMBER.search, reversed(talk.earlier)) if each), None)
    return int(found[1]) if found else None


def _wants_cancel(text: str) -> bool:
    return bool(re.search(r"\bcancel|\bcall (?:it|that) off\b", text, re.IGNORECASE))


def _changes(text: str) -> dict[str, Any]:
    address = _ADDRESS.search(text)
    if address:
        return {"ship_to": address[1]}
    quantity = _QUANTITY.search(text)
    return {"quantity": int(quantity[1] or quantity[2])} if quantity else {}


def _refund(talk: Conversation, wish: str, order: int | None) -> list[DemoCall]:
    found = talk.result_of(LIST)
    if not wants_refund(wish) or found is None or talk.result_of(GIVE_BACK):
        return []
    meant = next((each for each in _orders(found) if each.get("id") == order), None)
    if meant is None or meant.get("status") not in _PAID:
        return []
    return [DemoCall(GIVE_BACK, {"order_id": order, "cents": _cents(meant)})]


def _orders(listed: Result) -> list[dict[str, Any]]:
    found = listed.content if isinstance(listed.content, list) else []
    return [each for each in found if isinstance(each, dict)]


def _listed(talk: Conversation, orders: list[dict[str, Any]]) -> str:
    number, wish = _order_meant(talk), _wish(talk)
    if not orders:
        return "You have no orders yet. Place one, and ask me again."
    if number is None:
        all_of_them = " ".join(map(_sentence, orders[:5]))
        is_to_do = wants_refund(wish) or _wants_cancel(wish) or _changes(wish)
        return f"{all_of_them} {WHICH}" if is_to_do else all_of_them
    meant = next((each for each in orders if each.get("id") == number), None)
    if meant is None:
        return f"You have no order {number}. {' '.join(map(_sentence, orders[:3]))}"
    if wants_refund(wish):
        return f"{_sentence(meant)} There is nothing to give back."
    return _sentence(meant)


def _sentence(order: dict[str, Any]) -> str:
    return f"Order {order.get('id')} ({_what(order)}) is {order.get('status')}; {_total(order)}."


def _what(order: dict[str, Any]) -> str:
    return f"{order.get('quantity')} x {order.get('item')}"


def _total(order: dict[str, Any]) -> str:
    return dollars(_cents(order))


def _cents(order: dict[str, Any]) -> int:
    return int(order.get("quantity", 0)) * int(order.get("priceCents", 0))


def _refusal(result: Result) -> str:
    return f"I could not do that: {str(result.content).rstrip('.')}."
