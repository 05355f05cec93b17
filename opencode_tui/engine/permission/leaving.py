"""The one decision about whether the content of a file may leave: in a request that a command of the user makes, or in a record.

What a tool reads is asked about when it reads. A review, the proposed message of a commit, the changes of a session and those of
an agent's worktree take the content of files without a tool: each goes through `Leaving`, and `test_leaving.py` lists them. A file
with secrets, one that settings hide and one that a rule keeps from being read is named, without its content; what looks like a key
in the rest is masked.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from opencode_tui.config.sources.project_file import fold, is_secret
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.permission.ruleset import BuiltInRule, evaluate_layers
from opencode_tui.redaction.detectors import mask_keys
from opencode_tui.schema.api.review import ChangedPath, Hunk
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.session.diff import FileDiff

SECRET = "may hold secrets"
HIDDEN = "hidden by experimental.sandbox.hidden"
DENIED = "kept from being read by a rule"
PRIVATE = "holds a private key"

LEFT_OUT = "left out: "
"""How the note on a file begins whose content is left out."""

_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY")
_FILE_IN_PATCH = re.compile(r"^diff --git ", re.MULTILINE)
_NAMES_IN_PATCH = re.compile(
    r'^(?:---|\+\+\+) "?[ab]/(.*?)"?\t?$|^(?:rename|copy) (?:from|to) "?(.*?)"?$', re.MULTILINE
)
_HEAD_OF_PATCH = re.compile(r'diff --git "?a/(.*?)"? "?b/(.*?)"?$', re.MULTILINE)


class Leaving(Struct, frozen=True):
    """Decides for the files of one work tree, a real path. `rules` returns rulesets that must all allow reading.

    `is_hidden` returns whether settings hide an absolute path.
    """

    root: str
    forms: PathForms
    rules: Callable[[], Sequence[Ruleset]]
    is_hidden: Callable[[str], bool]

    def objection(self, name: str, *texts: str) -> str:
        """Return why the content of a file may not leave, empty when it may; `name` is absolute, or relative to the work tree.

        `texts` is what would leave of it.
        """
        path = posixpath.normpath(posixpath.join(self.root, name))
        rule = evaluate_layers("read", path, self.rules(), self.forms.of("read", path))
        if rule.action == "deny" or (rule.action == "ask" and not isinstance(rule, BuiltInRule)):
            return DENIED
        if self.is_hidden(path):
            return HIDDEN
        is_named = rule.action == "allow" and not isinstance(rule, BuiltInRule) and bool(rule.pattern.strip("*"))
        if _may_hold_secrets(path[len(self.root) :]) and not is_named:
            return SECRET
        return PRIVATE if any(map(_PRIVATE_KEY.search, texts)) else ""

    def changed(self, files: Iterable[ChangedPath]) -> list[ChangedPath]:
        """Return changed files, those that may not leave without their lines and with a note that says why."""
        return [self._changed(one) for one in files]

    def _changed(self, file: ChangedPath) -> ChangedPath:
        lines = [line for hunk in file.hunks for line in hunk.lines]
        if reason := self.objection(file.path, "\n".join(lines)):
            return file.changed(
                note=LEFT_OUT + reason, hunks=[hunk.changed(header="", lines=[]) for hunk in file.hunks]
            )
        return file.changed(hunks=[_masked(hunk) for hunk in file.hunks]) if lines else file

    def diffs(self, changes: Iterable[FileDiff]) -> list[FileDiff]:
        """Return the changes of files, those that may not leave without their texts and with a note that says why."""
        return [self._diff(one) for one in changes]

    def _diff(self, change: FileDiff) -> FileDiff:
        reason = self.objection(change.file, change.before, change.after)
        return change.changed(before="", after="", note=LEFT_OUT + reason) if reason else change

    def patch(self, text: str) -> str:
        """Return a patch of git, files that may not leave named in a line in place of theirs."""
        starts = [match.start() for match in _FILE_IN_PATCH.finditer(text)]
        places = [*starts, len(text)]
        return text[: places[0]] + "".join(self._piece(text[start:end]) for start, end in pairwise(places))

    def _piece(self, text: str) -> str:
        named = [name for match in _NAMES_IN_PATCH.findall(text) for name in match if name]
        head = _HEAD_OF_PATCH.match(text)
        names = dict.fromkeys([*named, *(head.groups() if head else ())])
        reason = next((found for name in names if (found := self.objection(_unquoted(name), text))), "")
        if not reason:
            return mask_keys(text)
        return f"{text.partition(chr(10))[0]}\n({LEFT_OUT}{reason})\n"


def _may_hold_secrets(path: str) -> bool:
    """Return whether a name on the way to a file is one of files with secrets, or of git's own."""
    parts = fold(path).split("/")
    return is_secret(path) or any(part == ".git" or (part.startswith(".env") and is_secret(part)) for part in parts)


def _masked(hunk: Hunk) -> Hunk:
    """Return a piece of a change with what looks like a key masked."""
    lines = [mask_keys(line) for line in hunk.lines]
    return hunk if lines == hunk.lines else hunk.changed(header=mask_keys(hunk.header), lines=lines)


def _unquoted(name: str) -> str:
    """Return a name of a patch without git's escapes; a byte is the letter of its number, which no rule depends on."""
    return re.sub(r"\\([0-7]{3}|.)", lambda match: chr(int(match[1], 8)) if len(match[1]) == 3 else match[1], name)
