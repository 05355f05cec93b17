"""The other side of a command that exchanges commits or files: another computer, or something that the project itself brings.

A repository in the project comes with hooks and settings that run programs on this computer. So a path, a `file:` address, the name
of a folder, a configured remote that leads to one of these, and an address of a helper program are no other computer, and no
approval of the command's kind covers them.
"""

import re
from collections.abc import Mapping, Sequence

from opencode_tui.engine.permission.git_config import RemoteSettings
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.needs import given
from opencode_tui.engine.permission.shell.operands import Role, read_options
from opencode_tui.engine.permission.shell.words import Word, listed, literal, names

_NETWORK = re.compile(r"(?:https?|ssh|git|ftps?|git\+ssh|ssh\+git|svn(?:\+ssh)?|bzr(?:\+ssh)?)://[^/]", re.IGNORECASE)
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_ON_HOST = re.compile(r"(?:[^@/:]+@)?(?:\[[^\]]*\]|[^/:\[]+):(?!:)(?P<path>.*)", re.DOTALL)
"""How ssh names a path on another computer: a colon before the first slash."""

_VALUED = dict.fromkeys(listed("git remote options with a value"), Role.TEXT)
_CLONE_VALUED = {**_VALUED, **dict.fromkeys(("-b", "-c", "-u"), Role.TEXT)}
_SUBCOMMAND_VALUED: Mapping[str, Role] = dict.fromkeys(
    ("-t", "-m", "-b", "--branch", "--name", "--reference", "--depth"), Role.TEXT
)
_FETCHES = names("fetch pull")
_FIRST = names("push fetch pull clone ls-remote fetch-pack send-pack http-fetch http-push")
_ANY_REMOTE = names("update prune show set-head")
_ADDS = names("add set-url")
_OTHERS = names(
    "push pull clone incoming outgoing in out checkout co switch sw relocate import export sync branch bind merge git missing send "
    "mirror fetch"
)
"""Commands of other programs for version control that name another repository."""


def check_git(call: Call, command: str, words: Sequence[Word]) -> None:
    """Record a command of git whose other side may be in the project."""
    if any(not _is_elsewhere(call, word, settings=None) for word in _named_by_option(words)):
        call.steered()
    texts = [word.text for word in words]
    if command in ("remote", "submodule", "lfs"):
        _check_subcommand(call, command, words)
    elif command in _FIRST:
        _, operands = read_options(words, _CLONE_VALUED if command == "clone" else _VALUED, permutes=True)
        many = command in _FETCHES and given(texts, "--all --multiple")
        _check(call, operands if command in _FETCHES and given(texts, "--multiple") else operands[:1], all_remotes=many)
        if command == "push" and any(text.startswith("--recurse-submodules") for text in texts):
            call.steered()  # repositories below the project say where they push to
    elif command == "request-pull":
        _check(call, read_options(words, _VALUED, permutes=True)[1][1:2], all_remotes=False)


def _named_by_option(words: Sequence[Word]) -> list[Word]:
    """Return the addresses that options name: `--remote=x` of `git archive`, `--repo x` of `git push`."""
    found: list[Word] = []
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in ("--remote", "--repo"):
            found += [literal(value)] if equals else words[index + 1 : index + 2]
    return found


def _check_subcommand(call: Call, command: str, words: Sequence[Word]) -> None:
    _, operands = read_options(words, _SUBCOMMAND_VALUED, permutes=True)
    if not operands:
        return
    subcommand, rest = operands[0].text, operands[1:]
    if command == "lfs":
        if subcommand in ("push", "pull", "fetch"):
            _check(call, rest[:1], all_remotes=False)
    elif subcommand in _ADDS:
        addresses = rest[:1] if command == "submodule" and subcommand == "add" else rest[1:]
        if any(not _is_elsewhere(call, word, settings=None) for word in addresses):
            call.steered()
    elif command == "remote" and subcommand in _ANY_REMOTE:
        _check(call, rest[:1] if subcommand != "update" else (), all_remotes=subcommand == "update")


def _check(call: Call, operands: Sequence[Word], *, all_remotes: bool) -> None:
    """Record that the other side may be in the project: the operands, else what the settings of the repository name."""
    settings = call.runner.findings.remotes(call.state.folders)
    if operands and not all(_is_elsewhere(call, word, settings=settings) for word in operands):
        call.steered()
    if settings is None or (operands and not all_remotes):
        return
    used = settings.urls if all_remotes else settings.defaults
    for name in used:
        addresses = settings.urls.get(name, (name,))
        if not all(_is_address_elsewhere(call, settings.rewritten(one)) for one in addresses):
            call.steered()


def _is_elsewhere(call: Call, word: Word, *, settings: RemoteSettings | None) -> bool:
    """Return whether a word is surely another computer, or a remote of the repository that is one."""
    text = word.text if word.known else word.fixed
    if settings is not None and word.known and text in settings.urls:
        return all(_is_address_elsewhere(call, settings.rewritten(one)) for one in settings.urls[text])
    if settings is not None:
        text = settings.rewritten(text)
    if _is_address_elsewhere(call, text):
        return True
    if "/" in text or ":" in text or text.startswith(".") or not text:
        return False
    if settings is not None and text not in settings.groups:
        return False
    return word.known and not _is_there(call, text)


def _is_address_elsewhere(call: Call, text: str) -> bool:
    """Return whether an address is surely one of another computer, and names no path of this project there."""
    root = call.runner.findings.root
    if _HELPER.match(text) or f"{root.rstrip('/')}/" in f"{text}/":
        return False
    if _NETWORK.match(text):
        return True
    if "://" in text or text.lower().startswith("file:"):
        return False
    return _ON_HOST.fullmatch(text) is not None and not _is_there(call, text)


def _is_there(call: Call, text: str) -> bool:
    """Return whether a folder or a bundle of this name is in a folder of the command."""
    exists = call.runner.findings.filesystem.exists
    return any(
        exists(f"{folder}/{text}{end}") for folder in call.state.folders or () for end in ("", ".git", ".bundle")
    )


def check_version_control(call: Call) -> None:
    """Record a command of another program for version control whose other side may be in the project."""
    _, operands = read_options(call.arguments, {}, permutes=True)
    texts = [word.text for word in operands]
    place = next((index for index, text in enumerate(texts) if text in _OTHERS), None)
    if place is None:
        return
    for word in operands[place + 1 :]:
        text = word.text if word.known else word.fixed
        is_path = "/" in text or text.startswith(".") or _is_there(call, text)
        if text.lower().startswith("file:") or (is_path and not _is_address_elsewhere(call, text)):
            call.steered()
