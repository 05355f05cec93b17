"""The lines of a file that are most similar to lines that a model quoted and that are not in it, so that its next try fits."""

from collections.abc import Sequence

from opencode_tui.engine.tool.edit.match import vote_starts
from opencode_tui.schema.error import ToolError

NEAREST_BYTES = 1_500
"""Most bytes of the lines that are shown."""
_SHOWN_LINES = 12
_LINES_BEFORE = 2
"""Lines that are shown before the first that differs."""
_SHOWN_CHARACTERS = 160
_NEAR_ENOUGH = 50.0
_CANDIDATES = 8
_COMPARED_LINES = 40
_COMPARED_CHARACTERS = 1_000
_SLICE_LINES = 2_000
_READ_AGAIN = "read it again and quote it exactly"


def explain_missing(problem: str, text: str, quoted: str) -> ToolError:
    """Return the error that a text has no such lines: what differs, and below it the most similar ones with their numbers.

    Takes time linear in the texts, whose lines end in `\\n`.
    """
    lines = text.split("\n")
    wanted = [line.strip() for line in quoted.strip("\n").split("\n")]
    if not any(wanted):
        return ToolError(f"{problem}: it is blank", _READ_AGAIN)
    start = _find_start([line.strip() for line in lines], wanted)
    if start is None:
        longest = max(wanted, key=len)
        return ToolError(f"{problem}: no line is like {_shown(longest)}", _READ_AGAIN)
    differing = [at for at, line in enumerate(wanted) if not _is_equal(lines, start + at, line)]
    there = [at for at in differing if 0 <= start + at < len(lines)]
    listed = _list_lines(lines, start, len(wanted), (there or differing or [0])[0])
    if not differing:
        advice = "quote these lines as they are, without the numbers:"
        return ToolError(f"{problem}: it differs in white space", advice, lines=listed)
    different = (
        f"line {start + there[0] + 1} is not the quoted {_shown(wanted[there[0]])}"
        if there
        else f"it has no line {_shown(wanted[differing[0]])} {'before' if start + differing[0] < 0 else 'after'} these"
    )
    advice = "quote the lines as they are, without the numbers:"
    return ToolError(f"{problem}: {different}", advice, lines=listed)


def _is_equal(lines: Sequence[str], at: int, wanted: str) -> bool:
    return 0 <= at < len(lines) and lines[at].strip() == wanted


def _find_start(shown: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return where the run of lines begins that is most similar to the wanted one; it may reach beyond both ends of the file."""
    votes = vote_starts(shown, wanted)
    if votes:
        candidates = [start for start, _ in votes.most_common(_CANDIDATES)]
        return max(candidates, key=lambda start: _likeness(shown, start, wanted))
    at = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    number, likeness = _most_alike(wanted[at], shown)
    return None if likeness < _NEAR_ENOUGH else number - at


def _likeness(shown: Sequence[str], start: int, wanted: Sequence[str]) -> float:
    """Return the sum of the similarities of the lines, of the first ones of a long run."""
    from rapidfuzz.distance import Indel  # only for a failed edit

    return sum(
        Indel.normalized_similarity(line[:_COMPARED_CHARACTERS], shown[start + at][:_COMPARED_CHARACTERS])
        for at, line in enumerate(wanted[:_COMPARED_LINES])
        if 0 <= start + at < len(shown)
    )


def _most_alike(wanted: str, shown: Sequence[str]) -> tuple[int, float]:
    """Return the index of the line most similar to `wanted`, and the similarity, 0 to 100."""
    from rapidfuzz import fuzz, process  # only for a failed edit

    best = (0, 0.0)
    # In slices, because a call holds the interpreter until it has compared everything.
    for start in range(0, len(shown), _SLICE_LINES):
        piece = [line[:_COMPARED_CHARACTERS] for line in shown[start : start + _SLICE_LINES]]
        found = process.extractOne(wanted[:_COMPARED_CHARACTERS], piece, scorer=fuzz.ratio, score_cutoff=best[1])
        if found is not None and found[1] > best[1]:
            best = (start + found[2], found[1])
    return best


def _list_lines(lines: Sequence[str], start: int, count: int, first: int) -> str:
    """Return the lines of a run with their numbers, from shortly before the index `first`, within the limits."""
    begin = max(start + (max(first - _LINES_BEFORE, 0) if count > _SHOWN_LINES else 0), 0)
    listed: list[str] = []
    left = NEAREST_BYTES
    for number, line in enumerate(lines[begin : min(max(start + count, begin + 1), begin + _SHOWN_LINES)], begin + 1):
        row = f"{number}: {_cut(line)}"
        left -= len(row.encode("utf-8", "surrogatepass")) + 1
        if left < 0 and listed:
            break
        listed.append(row)
    return "\n".join(listed)


def _shown(line: str) -> str:
    return repr(_cut(line))


def _cut(line: str) -> str:
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"
