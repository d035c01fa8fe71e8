"""What tokens cost, by the public price lists that come with the package ``genai-prices``.

An estimate: lists change, and contracts have prices of their own.  A model that no list knows has
no price, which is something else than a price of nothing.
"""

from genai_prices import Usage as Priced
from genai_prices import calc_price

from app.domain.run import Usage


def price_of(model: str, usage: Usage) -> float | None:
    """Return dollars for what a model used; ``None``: its price is not known.

    Args:
        model: as the provider names it in an answer.
        usage: its ``input_tokens`` hold what was read from a cache or written to one.
    """
    priced = Priced(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        return float(calc_price(priced, model_ref=model).total_price)
    except (LookupError, ValueError):
        return None
