"""The effects of plain commands on their arguments: the table `commands.txt`, read once.

A line is `names | operands | options`. Operands: codes of `Role`, the first operand's before a comma, the last one's after a
semicolon (`t,r` a text, then files read; `r;w` files read, the last one written). Options: `name=code`. Marks among the options:
`net` accesses the network, `opaque` runs unknown code, `spread` reads folders recursively, `assumed` and `strict` as in `Spec`.
"""

from functools import cache
from importlib.resources import files

from opencode_tui.engine.permission.shell.operands import Role, Spec

ASSUMED = Spec(rest=Role.BOTH, assumed=True)
"""Arguments of which nothing is known: all that look like a path count as read and written."""

UNLISTED = Spec(rest=Role.BOTH, assumed=True, opaque=True)
"""A command that is not listed."""

_MARKS = frozenset({"net", "opaque", "spread", "assumed", "strict"})


def find_spec(name: str) -> Spec | None:
    """Return the entry of a command, None when it is not listed."""
    return _table().get(name)


@cache
def _table() -> dict[str, Spec]:
    text = files("opencode_tui.engine.permission.shell").joinpath("commands.txt").read_text(encoding="utf-8")
    table: dict[str, Spec] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            names, operands, options = (column.strip() for column in line.split("|"))
            spec = parse_spec(operands, options)
            table.update(dict.fromkeys(names.split(), spec))
    return table


def parse_spec(operands: str, options: str) -> Spec:
    """Return the entry that two columns of the table describe."""
    head, _, last = operands.partition(";")
    first, comma, rest = head.partition(",")
    words = options.split()
    given = dict(word.rsplit("=", 1) for word in words if word not in _MARKS)
    return Spec(
        first=Role(first) if comma else None,
        rest=Role(rest if comma else first),
        last=Role(last) if last else None,
        options={name: Role(letter) for name, letter in given.items()},
        network="net" in words,
        opaque="opaque" in words,
        assumed="assumed" in words,
        spreads="spread" in words,
        strict="strict" in words,
    )
