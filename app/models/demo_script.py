"""What the scripted model says next: a pure function of the conversation and the tools at hand.

It serves the shipped agents (support; the order desk; articles) and, for any agent, the
wish ``call NAME {json}``.  It remembers what was said earlier in the thread, reads
what tools answered, and explains a refusal.
"""

import json
import re
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, Final

from app.models.demo_article import (
    FIBRE,
    PARAGRAPH,
    RESEARCHER,
    WHICH_TOPIC,
    article_calls,
    article_told,
    wants_article,
)
from app.models.demo_conversation import Conversation, Result
from app.models.demo_intents import (
    DemoCall,
    cents_in,
    cities_in,
    commands_in,
    name_in,
    order_in,
    orders_in,
    wants_refund,
    wants_weather,
)
from app.models.demo_orders import CANCEL, LIST, dollars, order_calls, order_told

WEATHER, ORDER, REFUND = "get_weather", "look_up_order", "refund_order"

WHICH_CITY: Final = "Which city do you mean?"
WHICH_ORDER: Final = "Which order do you mean? Its number is on the receipt, as 1001."
STORY: Final = (
    "Long before engines, a rope began as a handful of hemp in a building a quarter of a mile "
    "long. The spinner tied the fibres to his waist, walked backwards, and let them slip through "
    "his fingers while a wheel behind him put the twist in. Yarn became strand, strand became "
    "rope, and each twist ran against the one before it, so that the rope held itself together. "
    "No fibre in it was longer than an arm. The rope was as long as the walk, and it carried "
    "ships around the world. Threads that hold each other: that is still the whole trick."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model; ``calls`` by call id."""

    text: str = ""
    calls: dict[str, DemoCall] = field(default_factory=dict)
    thinking: str = ""


def reply(talk: Conversation, tools: Set[str]) -> Reply:
    """Return the next answer."""
    commands = _commands(talk, tools)
    if commands:
        return _with_calls("", commands, talk)
    article = article_calls(talk, tools)
    if article:
        return _with_calls("" if talk.results else "Let me ask.", article, talk)
    desk = order_calls(talk, tools)
    if desk:
        return _with_calls("" if talk.results else "Let me see.", desk, talk)
    if talk.results:
        return _after_results(talk, tools)
    calls = _wishes(talk, tools)
    if calls:
        return _with_calls("Let me look that up.", calls, talk)
    thinking = "The user wants me to think. A short plan will do." if "think" in talk.asked else ""
    return Reply(_words(talk, tools), thinking=thinking)


def _with_calls(text: str, calls: list[DemoCall], talk: Conversation) -> Reply:
    first = talk.calls_so_far + 1
    return Reply(text, {f"demo_{number}": call for number, call in enumerate(calls, start=first)})


def _commands(talk: Conversation, tools: Set[str]) -> list[DemoCall]:
    """Return the calls of the next turn that the text spells out, if any is left."""
    answered = len(talk.results)
    for turn in commands_in(talk.asked):
        known = [call for call in turn if call.name in tools]
        if answered < len(known):
            return known[answered:]
        answered -= len(known)
    return []


def _wishes(talk: Conversation, tools: Set[str]) -> list[DemoCall]:
    calls: list[DemoCall] = []
    if WEATHER in tools and (wants_weather(talk.asked) or _was_asked(talk, WHICH_CITY)):
        cities = cities_in(talk.asked) or cities_in(f"in {_short_answer(talk, WHICH_CITY)}")
        calls += [DemoCall(WEATHER, {"city": city}) for city in cities]
    order = _order_meant(talk)
    if order is None:
        return calls
    cents = cents_in(talk.asked)
    if _refund_meant(talk) and REFUND in tools and (cents is not None or ORDER not in tools):
        orders = orders_in(talk.asked) or [order]
        calls += [DemoCall(REFUND, {"order_id": each, "amount": cents or 0}) for each in orders]
    elif ORDER in tools:
        calls.append(DemoCall(ORDER, {"order_id": order}))
    return calls


def _order_meant(talk: Conversation) -> str | None:
    """Return the order in this text, or the last one spoken of if the text points back at it."""
    named = order_in(talk.asked) or order_in(f"order {_short_answer(talk, WHICH_ORDER)}")
    if named or not re.search(r"\b(?:refund|it|that|order)\b", talk.asked, re.IGNORECASE):
        return named
    if not (wants_refund(talk.asked) or "order" in talk.asked.lower()):
        return None
    spoken_of = (order_in(text) for text in reversed(talk.earlier))
    return next((order for order in spoken_of if order), None)


def _refund_meant(talk: Conversation) -> bool:
    if wants_refund(talk.asked):
        return True
    return _was_asked(talk, WHICH_ORDER) and any(wants_refund(text) for text in talk.earlier[-1:])


def _was_asked(talk: Conversation, question: str) -> bool:
    return bool(talk.assistant) and talk.assistant[-1].endswith(question)


def _short_answer(talk: Conversation, question: str) -> str:
    return talk.asked.strip(" .!") if _was_asked(talk, question) else ""


def _after_results(talk: Conversation, tools: Set[str]) -> Reply:
    found = talk.result_of(ORDER)
    wants_more = _refund_meant(talk) and REFUND in tools and talk.result_of(REFUND) is None
    if wants_more and found is not None and not found.is_error:
        total = found.content.get("total_cents", 0) if isinstance(found.content, dict) else 0
        order = str(found.arguments.get("order_id", ""))
        refund = DemoCall(REFUND, {"order_id": order, "amount": total})
        return _with_calls(f"{_told(found)} I will refund it.", [refund], talk)
    written = article_told(talk) or order_told(talk, tools)
    if written is not None:
        return Reply(written)
    untold = (_told(result) for result in talk.results[-talk.untold :])
    return Reply(" ".join(dict.fromkeys(untold)))


def _told(result: Result) -> str:
    if result.is_error:
        return _failure(result)
    if result.name in _PLAIN:
        return str(result.content)
    teller = _TELLERS.get(result.name)
    if teller is None or not isinstance(result.content, dict):
        return f"{result.name} answered {_shown(result.content)}."
    return teller(result.content)


def _failure(result: Result) -> str:
    reason = _shown(result.content).rstrip(".")
    if result.name == REFUND:
        return f"I did not refund order {result.arguments.get('order_id', '')}. {reason}."
    return f"{result.name} did not work. {reason}."


def _shown(content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."


_PLAIN: Final = frozenset({FIBRE, RESEARCHER})
"""Tools whose answer is a sentence already."""

_TELLERS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    WEATHER: lambda got: (
        f"In {got.get('city')} it is {got.get('temperature_c')} °C with {got.get('condition')}."
    ),
    ORDER: lambda got: (
        f"Order {got.get('order_id')} ({got.get('item')}) is {got.get('status')}; "
        f"it cost {dollars(got.get('total_cents'))}."
    ),
    REFUND: lambda got: (
        f"Done: {dollars(got.get('refunded_cents'))} go back for order {got.get('order_id')}. "
        f"The reference is {got.get('reference')}."
    ),
}


def _words(talk: Conversation, tools: Set[str]) -> str:
    """Return what to say when there is nothing to call."""
    asked = talk.asked
    lowered = asked.lower()
    if re.search(r"\bwhat(?:'s| is) my name\b|\bwho am i\b", lowered):
        known = next((name for name in map(name_in, reversed(talk.earlier)) if name), None)
        return f"You are {known}." if known else "You have not told me your name yet."
    if re.search(r"\bwhat did i (?:say|ask|tell)\b|\bdo you remember\b", lowered):
        said = "; ".join(f"“{text}”" for text in talk.earlier[-3:])
        return (
            f"Earlier you said: {said}." if said else "This is the beginning of our conversation."
        )
    if (name := name_in(asked)) is not None:
        return f"Pleased to meet you, {name}. What can I do for you?"
    if counted := re.search(r"\bcount to (\d{1,4})\b", lowered):
        return " ".join(str(number) for number in range(1, int(counted[1]) + 1))
    if wants_article(asked) and PARAGRAPH in tools:
        return WHICH_TOPIC
    if wants_weather(asked) and WEATHER in tools:
        return WHICH_CITY
    if wants_refund(asked) and REFUND in tools:
        return WHICH_ORDER
    if re.search(r"\bstory\b|\btell me (?:more|about)\b|\blong\b", lowered):
        return STORY
    return _introduction(asked, tools)


def _introduction(asked: str, tools: Set[str]) -> str:
    offers = {
        WEATHER: "“What is the weather in Oslo and Bergen?”",
        ORDER: "“Where is order 1001?”",
        REFUND: "“Refund order 1002.”",
        LIST: "“Where are my orders?”",
        CANCEL: "“Cancel order 1.”",
        PARAGRAPH: "“Write about hemp, manila and nylon.”",
        FIBRE: "“What is hemp?”",
    }
    tries = [offer for name, offer in offers.items() if name in tools] or ["“Tell me a story.”"]
    greeting = (
        "Hello! " if re.match(r"\s*(?:hi|hello|hey|good \w+)\b", asked, re.IGNORECASE) else ""
    )
    return (
        f"{greeting}I am the demo model that comes with Ropewalk: scripted, but everything around "
        f"me is real. Try {' or '.join(tries)}"
    )
