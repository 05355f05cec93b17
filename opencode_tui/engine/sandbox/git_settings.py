"""What of a change in git's settings cannot start a program or lead elsewhere: which branch belongs to which of a remote."""

import re

_SECTION = re.compile(rb'[ \t]*\[branch "[\w./-]+"\][ \t]*')
_TRACKING = re.compile(
    rb"[ \t]*(?:(?:remote|pushremote)[ \t]*=[ \t]*[\w.][\w.-]*|merge[ \t]*=[ \t]*refs/heads/[\w./-]+|rebase[ \t]*=[ \t]*\w+)[ \t]*",
    re.IGNORECASE,
)
_CONTINUED = re.compile(rb"\\\r?\n")


def same_but_tracking(before: bytes, after: bytes) -> bool:
    """Return whether two contents of a repository's `config` differ only in what branches track, as after `git push -u`."""
    if _CONTINUED.search(before) or _CONTINUED.search(after):
        return before == after
    return _without_tracking(before) == _without_tracking(after)


def _without_tracking(text: bytes) -> list[bytes]:
    """Return the lines without simple ones of sections of branches; such a section is left out when nothing remains of it."""
    kept: list[bytes] = []
    section = b""
    is_branch = False
    for line in text.split(b"\n"):
        if line.lstrip().startswith(b"["):
            is_branch = _SECTION.fullmatch(line) is not None
            section = line
            kept += [] if is_branch else [line]
        elif not is_branch:
            kept += [line] if line.strip() else []
        elif line.strip() and not _TRACKING.fullmatch(line):
            kept += [section, line]
    return kept
