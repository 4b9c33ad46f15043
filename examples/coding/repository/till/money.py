"""Amounts are whole cents; floats never hold money."""

from decimal import ROUND_HALF_EVEN, Decimal

CURRENCY = "€"
LARGEST = 1_000_000_00


class AmountError(ValueError):
    """The text is no amount."""


def parse_amount(text):
    """Read "12.50", "12,50" or "12" as cents."""
    cleaned = text.strip().removeprefix(CURRENCY).replace(",", ".")
    try:
        value = Decimal(cleaned)
    except ArithmeticError:
        raise AmountError(f"{text!r} is no amount; write it like 12.50") from None
    return to_cents(value)


def to_cents(value):
    """Round half to even, as the bank does."""
    cents = int((value * 100).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
    if abs(cents) > LARGEST:
        raise AmountError(f"{value} is more than this till can hold")
    return cents


def format_amount(cents):
    """Write cents as €12.50."""
    sign = "-" if cents < 0 else ""
    euros, rest = divmod(abs(cents), 100)
    return f"{sign}{CURRENCY}{euros}.{rest:02d}"


def split_bill(cents, people):
    """Share a bill between people, as evenly as cents allow."""
    if people < 1:
        raise ValueError("a bill needs somebody to pay it")
    share = round(cents / people)
    return [share] * people


def with_tip(cents, percent):
    """Add a tip in percent."""
    return cents + to_cents(Decimal(cents) / 100 * Decimal(percent) / 100)


def change(cents, given):
    """What the guest gets back, as coins and notes, the largest first."""
    if given < cents:
        raise ValueError(f"{format_amount(given)} does not pay {format_amount(cents)}")
    left, coins = given - cents, []
    for coin in (5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1):
        count, left = divmod(left, coin)
        coins += [coin] * count
    return coins
