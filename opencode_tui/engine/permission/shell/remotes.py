"""ssh, scp, rsync: local and remote words."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.operands import Spec, split_options
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word

_SSH = parse_spec(
    "t", "-F=r -i=r -E=w -S=b -o=t -l=t -p=t -L=t -R=t -D=t -J=t -b=t -c=t -e=t -I=! -m=t -O=t -Q=t -w=t -W=t -B=t"
)
_SCP = parse_spec("r;w", "-F=r -i=r -S=! -o=t -P=t -l=t -c=t -J=t -D=! -X=t")
_RSYNC = parse_spec(
    "r;w",
    "-e=x --rsh=x --rsync-path=! -f=t --filter=t --exclude=t --include=t --exclude-from=r --include-from=r --files-from=r -T=b"
    " --temp-dir=b --backup-dir=b --log-file=w --partial-dir=b --compare-dest=r --copy-dest=r --link-dest=r --password-file=r"
    " --write-batch=w --only-write-batch=w --read-batch=r --chmod=t --chown=t -B=t --bwlimit=t --timeout=t --port=t --config=!"
    " -M=! --remote-option=!",
)
_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//).*|[a-z]+://.*", re.DOTALL)
_SSH_RUNS = re.compile(
    r"(?:ProxyCommand|LocalCommand|KnownHostsCommand|PermitLocalCommand)\s*[= ]\s*(.*)", re.IGNORECASE | re.DOTALL
)


def run_ssh(call: Call) -> None:
    """Analyze `ssh`: commands on the other machine are unknown; some options run commands on this one."""
    call.network()
    call.opaque()
    _note_options(call)
    split_options(call, _SSH)


def run_copy(call: Call) -> None:
    """Analyze `scp`, `sftp`: local words are files."""
    call.network()
    _note_options(call)
    _copy(call, _SCP)


def _note_options(call: Call) -> None:
    for text in call.texts():
        found = _SSH_RUNS.search(text)
        if found:
            call.opaque()
            call.run_text(found.group(1))


def run_rsync(call: Call) -> None:
    """Analyze `rsync`: local words are folders; `-e` names the program that connects."""
    texts = call.texts()
    if any(_REMOTE.fullmatch(text) or text.startswith("rsync://") for text in texts if not text.startswith("-")):
        call.network()
    if any(re.match(r"-[A-Za-z]*e|--rsh|--rsync-path|--daemon", text) for text in texts):
        call.opaque()
    _copy(call, _RSYNC)


def _copy(call: Call, spec: Spec) -> None:
    operands, _ = split_options(call, spec)
    for index, word in enumerate(operands):
        if not _REMOTE.fullmatch(word.text):
            is_last = index == len(operands) - 1 and index > 0
            call.use(word, "w" if is_last else "rw" if "--remove-source-files" in call.texts() else "r")
            _spread(call, word, is_last=is_last)


def _spread(call: Call, word: Word, *, is_last: bool) -> None:
    if not is_last and any(re.match(r"-[A-Za-z]*[ra]|--recursive|--archive", text) for text in call.texts()):
        call.tree(word)


REMOTES: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("ssh", "autossh", "mosh", "sshpass", "dbclient", "rsh", "rlogin", "telnet"), run_ssh),
    **dict.fromkeys(("scp", "rcp", "pscp"), run_copy),
    "rsync": run_rsync,
}
"""Programs that work on another machine."""
