"""Plants one fault at a time into a copy of the program, and names the tests that find it: first the fast tier, then all.

    python -m tests.benchmarks.planted_faults [--only NUMBER,NUMBER] [--check]

Test files that import the module or have its name run first, then its package, then all. A test counts if it fails with the fault
and passes without it. `--check` only tells whether each row still fits the source. Prints a row per fault;
exit code 1 when fewer than 34 of 40 are found by the fast tier, or one by none.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
PART_FAST = 34 / 40
"""The part of the faults that the fast tier has to find."""

_NOTHING_FAILED = (0, 5)
"""How pytest ends when all tests passed, or when it selected none."""


class Fault(NamedTuple):
    """A change of one place of a module; `old` stands there once."""

    module: str
    old: str
    new: str


FAULTS = (
    Fault("bus/bus.py", 'self.deltas[0] if len(self.deltas) == 1 else "".join(self.deltas)', "self.deltas[0]"),
    Fault("redaction/detectors.py", " or (accept is not None and not accept(match))", ""),
    Fault("schema/ids.py", "return bool(known) and max(known) - min(known) > _HALF", "return False"),
    Fault("schema/json_text.py", "return shallow(value) if opened > MAX_DEPTH else value", "return value"),
    Fault("storage/process_lock.py", "found.generation + 1 if found", "found.generation if found"),
    Fault("storage/safe_folder.py", "_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC", "_FLAGS = os.O_CLOEXEC"),
    Fault(
        "config/permission.py",
        "for name, kept in result.items() if not covers(tool, name)}",
        "for name, kept in result.items()}",
    ),
    Fault("config/secret_file.py", "if not mode & 0o077:", "if not mode & 0o007:"),
    Fault("config/sources/substitute.py", "Path(os.path.normpath(folder / name))", "Path(os.path.normpath(name))"),
    Fault(
        "config/trust/store.py",
        "if entries.pop(str(worktree), None) is None:",
        "if entries.get(str(worktree)) is None:",
    ),
    Fault(
        "engine/permission/command_forms.py",
        'return pattern.endswith(" *") and compile_wildcard(pattern[:-2]).fullmatch(text) is not None',
        "return False",
    ),
    Fault(
        "engine/permission/decision.py",
        'if rule.action == "ask" or not is_allowed_by_rules(query, pattern, layers):',
        'if rule.action == "ask":',
    ),
    Fault(
        "engine/permission/grants.py",
        "return is_same and (outside or (grant.subject != subject and permission != OUTSIDE))",
        "return is_same",
    ),
    Fault(
        "engine/permission/shell/git.py",
        "if command in _RUN_HOOKS and _has_hooks(call):",
        "if command in _RUN_HOOKS and False:",
    ),
    Fault("engine/sandbox/address.py", "return not inner.is_global or inner.is_multicast", "return inner.is_multicast"),
    Fault("engine/sandbox/proxy.py", "name.endswith(pattern[1:])", "name.endswith(pattern[2:])"),
    Fault("engine/session/compaction/prune.py", "if turns < SAFE_TURNS:", "if turns < SAFE_TURNS - 1:"),
    Fault("engine/session/step/doom.py", "for n in range(length - period))", "for n in range(period))"),
    Fault("engine/session/retry.py", "if waited_ms + delay > RETRY_BURST_MS:", "if delay > RETRY_BURST_MS:"),
    Fault("storage/trash.py", "if entry.deleted < oldest", "if entry.deleted > oldest"),
    Fault(
        "engine/session/loop.py",
        'unknown + 1 if step.message.finish == "unknown" else 0',
        'unknown + 1 if step.message.finish == "unknown" else unknown',
    ),
    Fault(
        "engine/session/request/history.py", "for i in reversed(range(len(messages)))", "for i in range(len(messages))"
    ),
    Fault("engine/session/revert/range.py", "if at == len(names):", "if at >= len(names) - 1:"),
    Fault(
        "engine/snapshot/skipped.py",
        "((path in before) != (path in after) or stamps.get(path) != now.get(path))",
        "stamps.get(path) != now.get(path)",
    ),
    Fault("engine/snapshot/objects/tree.py", 'line[0] + b"/" if line[1] == FOLDER else line[0]', "line[0]"),
    Fault(
        "engine/snapshot/scan/stat_cache.py",
        "max(status.st_mtime_ns, status.st_ctime_ns) > started_ns - margin_ns",
        "status.st_mtime_ns > started_ns",
    ),
    Fault(
        "engine/snapshot/record/accumulator.py",
        "files = sorted(path for path in before if before[path] != after[path])",
        "files = sorted(before)",
    ),
    Fault("engine/provider/cost.py", "if sent > prices.above]", "if sent >= 0]"),
    Fault("engine/provider/error/cause.py", "if reported.status in self.never_with or ", "if "),
    Fault(
        "engine/provider/decode/anthropic_messages.py",
        "if not identifier or identifier in self._answered:",
        "if not identifier:",
    ),
    Fault("engine/provider/call_assembly.py", "if call.size + len(text) > ARGUMENT_LIMIT or", "if"),
    Fault(
        "engine/tool/edit/match.py",
        "is_sure = all(is_meant(content, old, new, item) for item in found)",
        "is_sure = True",
    ),
    Fault("engine/tool/truncate.py", "needed = len(line) + (1 if kept else 0)", "needed = len(line)"),
    Fault("engine/tool/files/read_guard.py", "if known != stamp:", "if known.size != stamp.size:"),
    Fault("engine/mcp/names.py", "or counts[name] > 1", ""),
    Fault("engine/lsp/document.py", 'or b"\\0" in data[:4096]', ""),
    Fault(
        "engine/format/formatters.py",
        'return Formatted(result.replace("\\n", "\\r\\n") if is_crlf else result, message)',
        "return Formatted(result, message)",
    ),
    Fault(
        "engine/search/query.py",
        """excluded += [f'"{words.tag(kind[1:], name)}"' for kind, name in self.tags if kind.startswith("-")]""",
        "excluded += []",
    ),
    Fault("engine/skill/skills.py", "if find_objection(path, root) is None:", "if True:"),
    Fault(
        "engine/command/commands.py",
        "words[number - 1 :] if number == highest else words[number - 1 : number]",
        "words[number - 1 : number]",
    ),
    Fault("engine/file/git_status.py", "return int(text) if text.isdecimal() else 0", "return 0"),
    Fault(
        "engine/plugin/command_hooks.py", "if _matches(group, names) for one in group.hooks]", "for one in group.hooks]"
    ),
    Fault(
        "engine/importing/allowed.py", 'agent = info.agent if info.agent in _AGENTS else "build"', "agent = info.agent"
    ),
    Fault("acp/tool_call.py", 'if part.state.status == "pending" or not', "if not"),
    Fault("batch/journal.py", "if journal.results and not is_resumed:", "if not journal.results and is_resumed:"),
    Fault(
        "client/facets/call.py", 'quote(str(attrgetter(found[1])(given)), safe="")', "str(attrgetter(found[1])(given))"
    ),
    Fault(
        "server/guard.py",
        "hmac.compare_digest(password, self.password.encode()) and is_user",
        "hmac.compare_digest(password, self.password.encode())",
    ),
    Fault("server/throttle.py", "if count < FREE_TRIES:", "if count <= 10 * FREE_TRIES:"),
    Fault("cli/table.py", "if widest is None or widths[widest] <= _MIN_CELLS:", "if widest is None:"),
    Fault(
        "text/safe_text.py",
        "return _compiled(_UNSAFE_IN_TEXT if multiline else _UNSAFE_IN_LINE).sub(_escape, text)",
        "return _compiled(_UNSAFE_IN_TEXT).sub(_escape, text)",
    ),
    Fault("text/quantity.py", "divmod(whole, 60) if whole < 3_600 else", "divmod(whole, 60) if whole <= 3_600 else"),
    Fault(
        "extras/importing/tool_names.py",
        'if tool == "bash" and isinstance(command, list):',
        'if tool == "bash" and isinstance(command, tuple):',
    ),
    Fault("extras/vim/motion.py", "if by > 0 else max(0, self._start(at) - 1)", "if by > 0 else self._start(at)"),
    Fault("tui/prompt/history.py", "(not self.entries or self.entries[-1] != text)", "True"),
    Fault("tui/prompt/slash.py", 'if not name or ("/" in name and name not in known):', "if not name:"),
    Fault(
        "tui/state/model_selection.py",
        "self.favorites = [*kept, name] if len(kept) == len(self.favorites) else kept",
        "self.favorites = [*kept, name]",
    ),
    Fault("tui/keys/keymap.py", "if len(name) == 1 and name.isupper():", "if False:"),
    Fault(
        "tui/conversation/fenwick.py",
        "if after < size and tree[after] <= value:",
        "if after < size and tree[after] < value:",
    ),
    Fault("tui/dialogs/panel.py", "max(0, self.opened + opening - now, self._last + quiet - now)", "0"),
    Fault("tui/chrome/header.py", "if not facts.files:", "if facts.files:"),
    Fault("tui/diff/layout.py", "if is_one and (at == 0 or not changed[at - 1])]", "if is_one]"),
    Fault(
        "tui/widgets/wheel.py",
        "min(MOST, self._factor + GAIN) if is_fast else 1.0",
        "self._factor + GAIN if is_fast else 1.0",
    ),
    Fault("tui/output/painter.py", "if size != self._size:", "if size[1] != self._size[1]:"),
    Fault(
        "tui/theme/derive.py",
        "return (max(one, other) + 0.05) / (min(one, other) + 0.05)",
        "return max(one, other) / (min(one, other) + 0.05)",
    ),
)


def main() -> int:
    """Plant each fault and look for it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="numbers of faults")
    parser.add_argument("--check", action="store_true", help="only check that each row fits the source")
    given = parser.parse_args()
    if wrong := misfits():
        print("these no longer fit the source:", ", ".join(wrong))
        return 1
    if given.check:
        return 0
    numbers = [int(one) for one in given.only.split(",") if one] or list(range(1, len(FAULTS) + 1))
    by_fast = by_all = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        place = Path(folder)
        _install(place)
        for number in numbers:
            tier, test = _look_for(FAULTS[number - 1], place)
            by_fast += tier == "fast"
            by_all += bool(tier)
            print(f"{number:2}  {FAULTS[number - 1].module:45} {tier or 'NOT FOUND':10} {test}", flush=True)
    print(f"{by_fast} of {len(numbers)} found by the fast tier, {by_all} by all tests")
    return int(by_fast < PART_FAST * len(numbers) or by_all < len(numbers))


def misfits() -> list[str]:
    """Return the modules of the faults that no longer fit the source: `old` is not there exactly once."""
    return [
        fault.module
        for fault in FAULTS
        if not (file := ROOT / "opencode_tui" / fault.module).is_file() or file.read_text().count(fault.old) != 1
    ]


def _look_for(fault: Fault, place: Path) -> tuple[str, str]:
    """Return the tier that finds a fault and the first test that fails because of it; both empty if none does."""
    path = place / "copy" / "opencode_tui" / fault.module
    right = path.read_text()
    wrong = right.replace(fault.old, fault.new)
    path.write_text(wrong)
    try:
        for tier, marks in (("fast", "not slow"), ("slow", "slow")):
            for tests in _near(fault.module):
                others: list[str] = []
                while found := _first_failure(place, [*tests, *others], marks):
                    if "::" not in found:
                        return tier, found
                    path.write_text(right)
                    is_caused = not _first_failure(place, [found], marks)
                    path.write_text(wrong)
                    if is_caused and _first_failure(place, [found], marks):
                        return tier, found
                    others += ["--deselect", found]
                    print(f"    {found} fails without the fault, or passes with it", flush=True)
    finally:
        path.write_text(right)
    return "", ""


def _near(module: str) -> list[list[str]]:
    """Return where tests are looked for, in this order.

    The files that import the module, or have its name in the folder of the package; that folder; all tests.
    """
    folder = Path("tests") / Path(module).parent
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    name = Path(module).stem
    package = ".".join(("opencode_tui", *Path(module).parent.parts))
    imports = re.compile(rf"{re.escape(package)}(\.| import (.*\b)?){name}\b")
    own = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if (name in file.stem and file.is_relative_to(ROOT / folder)) or imports.search(file.read_text())
    ]
    return [*([own] if own else []), [str(folder)], ["tests"]]


def _install(place: Path) -> None:
    """Install a copy of the files that git knows into an environment of its own: tests start programs of this environment."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.split("\0"):
        if name and (ROOT / name).is_file():
            (place / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / "copy" / name)
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    subprocess.run([place / "venv/bin/pip", "install", "-q", "-e", f"{place / 'copy'}[dev]"], check=True)


def _first_failure(place: Path, tests: list[str], marks: str) -> str:
    """Return the ID of the first of some tests that fails; empty if all pass or there is none."""
    words = ["-q", "-x", "-m", marks, "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests]
    if ".py" in tests[0]:
        words += ["-n", "0"]  # more processes would take longer to start than a file to run
    environ = {**os.environ, "PATH": f"{place / 'venv/bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        [place / "venv/bin/python", "-m", "pytest", *words],
        cwd=place / "copy",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in _NOTHING_FAILED:
        return ""
    failed = [
        line.partition(" ")[2].partition(" - ")[0]
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    return failed[0] if failed else " ".join(done.stdout.splitlines()[-1:]) or done.stderr[-200:]


if __name__ == "__main__":
    sys.exit(main())
