"""What calls cost: list prices in USD per million tokens, and the day they were noted.

Standard tier, without cached-input, batch or regional rates. The figures were noted on
``NOTED`` from public price lists (simonw/llm-prices and listings of 2026 that cite the
providers' pages), not from the providers' pages themselves. Prices change: pass your own
table for billing. A model that is not listed has no price; it is never taken to be free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

NOTED = date(2026, 11, 15)
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens in and out, as noted on a day."""

    tokens_in: float
    tokens_out: float
    noted: date = NOTED


PRICES: Mapping[str, Price] = {
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-5": Price(1.25, 10.00),
    "gpt-5-mini": Price(0.25, 2.00),
    "gpt-5-nano": Price(0.05, 0.40),
    "gpt-5.4": Price(2.50, 15.00),
    "gpt-5.4-mini": Price(0.75, 4.50),
    "gpt-5.4-nano": Price(0.20, 1.25),
    "text-embedding-3-small": Price(0.02, 0.0),
    "text-embedding-3-large": Price(0.13, 0.0),
    "text-embedding-ada-002": Price(0.10, 0.0),
}


def price_of(model: str, *, table: Mapping[str, Price] = PRICES) -> Price | None:
    """Return the price of a model, also by a dated name such as ``gpt-4o-mini-2024-07-18``."""
    return table.get(model) or table.get(_DATED.sub("", model))


def cost(
    model: str, tokens_in: int, tokens_out: int = 0, *, table: Mapping[str, Price] = PRICES
) -> float | None:
    """Return what a call costs in USD, or None when the model's price is not known."""
    price = price_of(model, table=table)
    if price is None:
        return None
    return (tokens_in * price.tokens_in + tokens_out * price.tokens_out) / 1_000_000
