"""Receipts: lines with a name, a count and a price."""

from dataclasses import dataclass, field

from till.money import format_amount, split_bill

WIDTH = 32


@dataclass(frozen=True)
class Line:
    name: str
    price: int
    count: int = 1

    @property
    def total(self):
        return self.price * self.count


@dataclass
class Receipt:
    table: str
    lines: list = field(default_factory=list)

    def add(self, name, price, count=1):
        self.lines.append(Line(name, price, count))

    @property
    def total(self):
        return sum(line.total for line in self.lines)

    def shares(self, people):
        """What each guest at the table pays."""
        return split_bill(self.total, people)

    def printed(self):
        rows = [f"table {self.table}".center(WIDTH)]
        rows += [_row(f"{line.count} × {line.name}", line.total) for line in self.lines]
        return "\n".join([*rows, "-" * WIDTH, _row("total", self.total)])


def _row(name, cents):
    amount = format_amount(cents)
    return f"{name[: WIDTH - len(amount) - 1]:<{WIDTH - len(amount)}}{amount}"
