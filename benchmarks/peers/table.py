"""The table of the comparison: medians, our rank, the rows in which ours is not first, and why figures are missing."""

import statistics
import textwrap
from collections.abc import Sequence

from benchmarks.peers.measure import ROWS, Figures, Row

_COLUMNS = 128


def table(figures: Figures, agents: Sequence[str], titles: Sequence[str]) -> str:
    """Return the Markdown table with what is below it; the first agent is ours. A row that nobody has is left out.

    A cell is the median of its samples, with the smallest and the largest of several.
    """
    rows = [row for row in ROWS if any(figures.samples.get((agent, row)) for agent in agents)]
    lines = [
        f"| | {' | '.join(titles)} | our rank |",
        f"|---|{'--:|' * len(titles)}--:|",
        *(_line(figures, agents, row) for row in rows),
    ]
    ahead = [words for row in rows if (words := _ahead(figures, agents, titles, row))]
    text = "\n".join(lines) + "\n\n"
    if ahead:
        text += paragraph(f"Not first in {len(ahead)} of {len(rows)} rows: {'; '.join(ahead)}.") + "\n"
    elif rows:
        text += f"First in all {len(rows)} rows.\n"
    return text + _reasons(figures, agents, titles, rows)


def paragraph(text: str) -> str:
    """Return a text in lines of the width of the documentation."""
    return textwrap.fill(text, _COLUMNS, break_long_words=False, break_on_hyphens=False)


def _line(figures: Figures, agents: Sequence[str], row: Row) -> str:
    cells = [_cell(figures.samples.get((agent, row), [])) for agent in agents]
    medians = _medians(figures, agents, row)
    own = medians.get(agents[0])
    rank = "–" if own is None else f"{1 + sum(other < own for other in medians.values())} of {len(medians)}"
    return f"| {row[1]} | {' | '.join(cells)} | {rank} |"


def _cell(samples: Sequence[float]) -> str:
    if not samples:
        return "–"
    low, median, high = (_number(value) for value in (min(samples), statistics.median(samples), max(samples)))
    return median if low == high else f"{median} ({low}…{high})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _medians(figures: Figures, agents: Sequence[str], row: Row) -> dict[str, float]:
    found = {agent: figures.samples.get((agent, row), []) for agent in agents}
    return {agent: statistics.median(samples) for agent, samples in found.items() if samples}


def _ahead(figures: Figures, agents: Sequence[str], titles: Sequence[str], row: Row) -> str:
    """Return the row with those that are ahead of ours, nothing when nobody is."""
    medians = _medians(figures, agents, row)
    if (own := medians.get(agents[0])) is None:
        return ""
    names = dict(zip(agents, titles, strict=True))
    ahead = [names[agent] for agent, median in sorted(medians.items(), key=lambda one: one[1]) if median < own]
    return f"{row[1].rpartition(', ')[0]} ({', '.join(ahead)})" if ahead else ""


def _reasons(figures: Figures, agents: Sequence[str], titles: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the reasons for dashes, one line for each agent and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for agent, title in zip(agents, titles, strict=True):
        for row in rows:
            if not figures.samples.get((agent, row)):
                reason = figures.reasons.get((agent, row), "not tried")
                found.setdefault((title, reason), []).append(row[1].rpartition(", ")[0])
    lines = [f"- {title}, {'; '.join(names)}: {reason}" for (title, reason), names in found.items()]
    return "\nA dash is a figure that could not be measured:\n\n" + "\n".join(lines) + "\n" if lines else ""
