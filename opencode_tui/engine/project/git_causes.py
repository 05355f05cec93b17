"""Says why git failed without repeating what git wrote: git quotes lines of files, and a command may have led it to any file.

A line that git cannot read, such as one of `packed-refs` that is a link to a key, is in its message. So a message of git reaches
no one; what it says is known here by fixed words, and the rest is an exit code.
"""

import errno
import os
import re

_CAUSES = (
    (
        re.compile(r"detected dubious ownership", re.I),
        "another user owns the repository (git's setting safe.directory allows it)",
    ),
    (re.compile(r"bare repository", re.I), "git enters no bare repository that is not named"),
    (re.compile(r"not a git repository|invalid gitfile format|not a valid repository", re.I), "not a git repository"),
    (re.compile(r"\.lock': File exists", re.I), "another git works there, or one left its lock file"),
    (re.compile(r"No space left on device", re.I), "no space left on the disk"),
    (re.compile(r"Disk quota exceeded", re.I), "the disk quota is used up"),
    (re.compile(r"Read-only file system", re.I), "the file system is read-only"),
    (re.compile(r"Too many open files", re.I), "too many open files"),
    (
        re.compile(r"Too many levels of symbolic links", re.I),
        "links that lead to each other, or a link where git follows none",
    ),
    (re.compile(r"unable to mount|^bwrap: ", re.I), "its sandbox could not be made"),
    (
        re.compile(r"index file (?:corrupt|smaller|open failed)|bad (?:index|signature)|invalid index", re.I),
        "the index is damaged",
    ),
    (
        re.compile(r"bad config line|unable to parse .*config|invalid config|bad (?:boolean|numeric) config", re.I),
        "a settings file is invalid",
    ),
    (re.compile(r"error occurred while reading the configuration", re.I), "a settings file cannot be read"),
    (re.compile(r"packed-refs|unterminated line in|unexpected line in", re.I), "packed-refs is damaged"),
    (re.compile(r"shallow line|shallow file", re.I), "the list of shallow commits is damaged"),
    (
        re.compile(r"object .*(?:corrupt|damaged)|corrupt loose|inflate: |missing (?:blob|tree)", re.I),
        "objects are missing or damaged",
    ),
    (
        re.compile(
            r"unable to read (?:tree|sha1|blob)|bad object|could not parse object|invalid object|not our ref", re.I
        ),
        "an object is missing",
    ),
    (
        re.compile(r"cannot lock ref|unable to (?:create|update|resolve) .*ref|bad ref", re.I),
        "a ref cannot be written or read",
    ),
    (re.compile(r"already (?:checked out|used by worktree)", re.I), "the branch is checked out elsewhere"),
    (re.compile(r"branch named .* already exists|already exists", re.I), "it exists already"),
    (re.compile(r"contains modified or untracked files", re.I), "it has modified or untracked files"),
    (re.compile(r"is locked|cannot remove a locked", re.I), "the worktree is locked"),
    (re.compile(r"submodules cannot be", re.I), "the worktree has submodules"),
    (re.compile(r"not fully merged", re.I), "the branch has commits that no other has"),
    (re.compile(r"did not match any file", re.I), "no file has one of the names"),
    (
        re.compile(r"unknown revision|ambiguous argument|single revision|not a valid object|not a commit", re.I),
        "there is no such commit",
    ),
    (
        re.compile(r"patch does not apply|patch failed|corrupt patch|does not exist in index|already exists in", re.I),
        "the patch does not apply",
    ),
    (re.compile(r"does not match index", re.I), "the index has other contents"),
    (
        re.compile(r"auto-detect email|tell me who you are|empty ident", re.I),
        "git knows no name (`git config --global user.name NAME`)",
    ),
    (re.compile(r"invalid path", re.I), "a file has a name that git refuses"),
    (re.compile(r"beyond a symbolic link", re.I), "a path leads through a link"),
    (re.compile(r"outside repository", re.I), "a path is outside the repository"),
    (re.compile(r"would be overwritten", re.I), "files are in the way"),
    (re.compile(r"could not resolve host|name resolution", re.I), "the host was not found"),
    (
        re.compile(r"authentication failed|could not read (?:username|password)|permission denied \(", re.I),
        "the server refused the sign-in",
    ),
    (
        re.compile(r"repository .* not found|does not appear to be a git repository", re.I),
        "there is no such repository",
    ),
    (re.compile(r"(?:couldn't|could not) find remote ref", re.I), "there is no such branch, tag or commit there"),
    (
        re.compile(r"read from remote|unable to access 'http|early EOF|hung up|connection (?:refused|timed out)", re.I),
        "the host was not reached",
    ),
    (re.compile(r"transport .* not allowed", re.I), "git must not use this kind of address"),
    (re.compile(r"Permission denied|Operation not permitted", re.I), "permission denied"),
    (re.compile(r"No such file or directory|cannot change to", re.I), "a file or folder is missing"),
    (re.compile(r"out of memory", re.I), "not enough memory"),
)
"""Words of git's messages, and what is said instead; the first one that is found counts."""

_SYSTEM_ERRORS = frozenset(os.strerror(number).lower() for number in errno.errorcode)


def explain(error: bytes, code: int) -> str:
    """Return why git failed in fixed words, with its exit code; nothing of its message is repeated.

    A line that ends with an error of the system is said in the system's words. The code of a git that went on after an error, 0,
    says nothing.
    """
    text = error.decode("utf-8", "replace")
    cause = next((words for pattern, words in _CAUSES if pattern.search(text)), "") or _system_error(text)
    if code == 0:
        return cause or "it printed an error and went on"
    return f"{cause} (exit code {code})" if cause else f"exit code {code}"


def _system_error(text: str) -> str:
    """Return which error of the system ends a line, in lower case; empty where none does."""
    ends = (line.rsplit(": ", 1)[-1].lower() for line in text.splitlines())
    return next((end for end in ends if end in _SYSTEM_ERRORS), "")
