"""Says why git failed without repeating what git wrote: git quotes lines of files, and a command may have led it to any file.

A line that git cannot read, such as one of `packed-refs` that is a link to a key, is in its message. So a message of git reaches
no one; what it says is known here by fixed words, and the rest is an exit code.
"""

import errno
import os
import re

_CAUSES = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"detected dubious ownership", "another user owns the repository (git's setting safe.directory allows it)"),
        (r"bare repository", "git enters no bare repository that is not named"),
        (r"not a git repository|invalid gitfile format|not a valid repository", "not a git repository"),
        (r"\.lock': File exists", "another git works there, or one left its lock file"),
        (r"No space left on device", "no space left on the disk"),
        (r"Disk quota exceeded", "the disk quota is used up"),
        (r"Read-only file system", "the file system is read-only"),
        (r"Too many open files", "too many open files"),
        (r"Too many levels of symbolic links", "links that lead to each other, or a link where git follows none"),
        (r"unable to mount|^bwrap: ", "its sandbox could not be made"),
        (r"index file (?:corrupt|smaller|open failed)|bad (?:index|signature)|invalid index", "the index is damaged"),
        (r"bad config line|unable to parse .*config|invalid config|bad (?:boolean|numeric) config", "a settings file is invalid"),
        (r"error occurred while reading the configuration", "a settings file cannot be read"),
        (r"packed-refs|unterminated line in|unexpected line in", "packed-refs is damaged"),
        (r"shallow line|shallow file", "the list of shallow commits is damaged"),
        (r"object .*(?:corrupt|damaged)|corrupt loose|inflate: |missing (?:blob|tree)", "objects are missing or damaged"),
        (r"unable to read (?:tree|sha1|blob)|bad object|could not parse object|invalid object|not our ref", "an object is missing"),
        (r"cannot lock ref|unable to (?:create|update|resolve) .*ref|bad ref", "a ref cannot be written or read"),
        (r"already (?:checked out|used by worktree)", "the branch is checked out elsewhere"),
        (r"branch named .* already exists|already exists", "it exists already"),
        (r"contains modified or untracked files", "it has modified or untracked files"),
        (r"is locked|cannot remove a locked", "the worktree is locked"),
        (r"submodules cannot be", "the worktree has submodules"),
        (r"not fully merged", "the branch has commits that no other has"),
        (r"did not match any file", "no file has one of the names"),
        (r"unknown revision|ambiguous argument|single revision|not a valid object|not a commit", "there is no such commit"),
        (r"patch does not apply|patch failed|corrupt patch|does not exist in index|already exists in", "the patch does not apply"),
        (r"does not match index", "the index has other contents"),
        (r"auto-detect email|tell me who you are|empty ident", "git knows no name (`git config --global user.name NAME`)"),
        (r"invalid path", "a file has a name that git refuses"),
        (r"beyond a symbolic link", "a path leads through a link"),
        (r"outside repository", "a path is outside the repository"),
        (r"would be overwritten", "files are in the way"),
        (r"could not resolve host|name resolution", "the host was not found"),
        (r"authentication failed|could not read (?:username|password)|permission denied \(", "the server refused the sign-in"),
        (r"repository .* not found|does not appear to be a git repository", "there is no such repository"),
        (r"(?:couldn't|could not) find remote ref", "there is no such branch, tag or commit there"),
        (r"read from remote|unable to access 'http|early EOF|hung up|connection (?:refused|timed out)", "the host was not reached"),
        (r"transport .* not allowed", "git must not use this kind of address"),
        (r"Permission denied|Operation not permitted", "permission denied"),
        (r"No such file or directory|cannot change to", "a file or folder is missing"),
        (r"out of memory", "not enough memory"),
    )
)  # fmt: skip
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
