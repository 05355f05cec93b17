"""The analyzers of programs that a line of the table can't describe, by program name."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.builtins import BUILTINS
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.filesystem import is_inside
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.git import run_git
from opencode_tui.engine.permission.shell.interpreters import INTERPRETERS, TEXT_PROGRAMS
from opencode_tui.engine.permission.shell.needs import given
from opencode_tui.engine.permission.shell.operands import (
    Role,
    Spec,
    at_home,
    parse_spec,
    split_options,
    tail,
    use_hidden_paths,
    use_operand,
)
from opencode_tui.engine.permission.shell.words import Word, literal

# ln and dd: links to paths outside the project, and operands of the form `key=value`.

_RM = parse_spec("e", "--files0-from=r")
_MV = parse_spec("m;w", "-t=d --target-directory=d -S=t --suffix=t")
_LN = parse_spec("r;w", "-t=d --target-directory=d -S=t")


def make_link(call: Call) -> None:
    """Analyze `ln`: a symbolic link to a path outside makes every later path uncertain."""
    operands, seen = split_options(call, _LN)
    points_to = operands if Role.TARGET in seen or len(operands) == 1 else operands[:-1]
    is_symbolic = any(re.match(r"-[A-Za-z]*s|--sym", text) for text in call.texts())
    for word in points_to:
        call.use(word, "r" if is_symbolic else "rw")
        if is_symbolic and _leads_out(call, word):
            call.runner.poison()
    for word in operands[len(points_to) :]:
        use_operand(call, word, Role.WRITE, assumed=False)


def _leads_out(call: Call, word: Word) -> bool:
    if not word.known or call.state.folders is None:
        return True
    findings = call.runner.findings
    starts = [""] if word.text.startswith("/") else [f"{folder}/" for folder in call.state.folders]
    return any(not is_inside(findings.real(start + word.text), findings.root) for start in starts) or ".." in word.text


def move(call: Call) -> None:
    """Analyze `mv`: a folder that moves takes the working folder with it."""
    operands, seen = split_options(call, _MV)
    targets = [] if Role.TARGET in seen or len(operands) < 2 else operands[-1:]
    for word in operands[: len(operands) - len(targets)]:
        use_operand(call, word, Role.MOVED, assumed=False)
        for path in call.runner.findings.targets(word, call.state.folders):
            if any(is_inside(folder, path) for folder in call.state.folders or ()):
                call.runner.poison()
                call.state.move(None, cannot_fail=True)
            if ".git" in path[len(call.runner.findings.root) :].split("/"):
                call.need("discard", "Moves data of a git repository.")
    for word in targets:
        use_operand(call, word, Role.WRITE, assumed=False)


def copy_blocks(call: Call) -> None:
    """Analyze `dd`: `if=` is read, `of=` is written."""
    for word in call.arguments:
        name, equals, _ = word.text.partition("=")
        if equals and name in ("if", "of"):
            use_operand(
                call,
                at_home(tail(word, len(name) + 1), call.state.home),
                Role.READ if name == "if" else Role.WRITE,
                assumed=False,
            )
        elif not word.known:
            call.opaque()


def delete(call: Call) -> None:
    """Analyze `rm` and similar: files that are named are free, a repository's data or a whole tracked folder is not."""
    operands, _ = split_options(call, _RM)
    findings = call.runner.findings
    has_options = len(operands) < len(call.arguments)
    is_recursive = (has_options and given(call.texts(), "-r -R --recursive")) or call.name == "trash"
    for word in operands:
        use_operand(call, word, Role.ENTRY, assumed=False)
        if not is_recursive and ".git" not in word.text:
            continue
        for path in findings.targets(word, call.state.folders):
            if ".git" in path[len(findings.root) :].split("/"):
                call.need("discard", "Deletes data of a git repository.")
            elif is_recursive and is_inside(findings.root, path):
                call.need("discard", "Deletes the whole project.")
            elif is_recursive and findings.filesystem.is_tracked(path, findings.root):
                call.need("discard", f"Deletes the folder {path[len(findings.root) + 1 :]} with everything in it.")
        if is_recursive and word.text in ("*", "./*", ".[!.]*", "{*,.*}"):
            call.need("discard", "Deletes the whole project.")


COPIERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("ln", "link", "gln"), make_link),
    **dict.fromkeys(("rm", "rmdir", "unlink", "trash", "grm"), delete),
    **dict.fromkeys(("mv", "gmv"), move),
    **dict.fromkeys(("dd", "gdd", "dcfldd"), copy_blocks),
}
"""Programs that link and copy."""


_SIGNAL_OPTION = re.compile(r"-(?:\d+|[A-Za-z]+\d*)|--signal(?:=.*)?")


def end_process(call: Call) -> None:
    """Analyze `kill`: a process that the same script has started is its own; any other number is another process."""
    words = call.arguments
    if words and _SIGNAL_OPTION.fullmatch(words[0].text):
        words = words[2 if words[0].text in ("-s", "-n", "--signal") else 1 :]
    if call.texts()[:1] in (["-l"], ["-L"]):
        return
    for word in words:
        is_own = word.text.startswith("%") or (not word.known and call.state.starts_jobs)
        if not is_own and word.text != "--":
            call.need("signal", "Ends processes that the command did not start.")


# Programs that walk folders and can run commands or write files for each match: find, fd.

_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_SELECTS = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-empty", "-newer", "-mtime", "-size"}
)
_READS = re.compile(r"-(?:a|c|m)?newer\w*|-samefile|-files0-from")
_FD = parse_spec(
    "t,r",
    "-d=t -t=t -e=t -E=t -S=t -c=t -j=t --base-directory=r -C=r --search-path=r --ignore-file=r -g=t"
    " --changed-within=t --changed-before=t -o=t --max-results=t --format=t",
)


def run_find(call: Call) -> None:
    """Analyze `find`: the words before the first expression are the folders; expressions may run, delete or write."""
    words = call.arguments
    count = next((index for index, word in enumerate(words) if _begins_expression(word.text)), len(words))
    starts = [word for word in words[:count] if not word.text.startswith("-")]
    deletes = any(word.text == "-delete" for word in words)
    for start in starts or [literal(".")]:
        call.use(start, "rw" if deletes else "r")
        if any(word.text in _EXECUTES for word in words):
            call.tree(start)
    if deletes and not any(word.text in _SELECTS for word in words):
        call.need("discard", "Deletes whole folders with everything in them.")
    call.runner.findings.listed = _listed(call.texts())
    _run_expressions(call, words[count:])


def _listed(texts: list[str]) -> str:
    """Return the pattern of the names that `find` prints."""
    names = [
        texts[index + 1]
        for index, text in enumerate(texts[:-1])
        if text in ("-name", "-iname") and texts[index - 1] not in ("!", "-not")
    ]
    return names[0] if len(names) == 1 else "*"


def _begins_expression(text: str) -> bool:
    return text[:1] in ("-", "(", "!") and text not in ("-L", "-H", "-P", "--") and not text.startswith(("-O", "-D"))


def _run_expressions(call: Call, words: list[Word]) -> None:
    index = 0
    while index < len(words):
        text = words[index].text
        if text in _EXECUTES:
            end = next((place for place in range(index + 1, len(words)) if words[place].text in (";", "+")), len(words))
            call.opaque()
            call.run_words(words[index + 1 : end])
            index = end
        elif index + 1 < len(words) and (text in _WRITES or _READS.fullmatch(text)):
            call.use(words[index + 1], "w" if text in _WRITES else "r")
            index += 1
        elif not words[index].known:
            call.opaque()
        index += 1


def run_fd(call: Call) -> None:
    """Analyze `fd`: like find; `-x` and `-X` run the rest of the line as a command."""
    place = next(
        (
            index
            for index, word in enumerate(call.arguments)
            if re.fullmatch(r"-[A-Za-z]*[xX]|--exec(?:-batch)?", word.text)
        ),
        None,
    )
    before = call.arguments if place is None else call.arguments[:place]
    operands, _ = split_options(Call(call.program, before, call.state, call.runner), _FD)
    for word in operands[1:]:
        call.use(word, "r")
    if place is not None:
        call.opaque()
        call.use_listed()
        call.run_words(call.arguments[place + 1 :])


SEARCHERS: Mapping[str, Callable[[Call], None]] = {"find": run_find, "gfind": run_find, "fd": run_fd, "fdfind": run_fd}
"""Programs that walk folders."""


# ssh, scp, rsync: local and remote words.

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
    _record_options(call)
    split_options(call, _SSH)


def run_copy(call: Call) -> None:
    """Analyze `scp`, `sftp`: local words are files."""
    call.network()
    _record_options(call)
    _copy(call, _SCP)


def _record_options(call: Call) -> None:
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
        call.need("network", "Copies files to or from another computer.")
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


# make and containers: they run instructions in a file of the project, and their options reach outside.

_MAKE = parse_spec(
    "t",
    "-C=b --directory=b -f=r --file=r --makefile=r -I=r --include-dir=r -o=t -W=t -j=t -l=t --eval=x -E=x --old-file=t --jobs=t",
)
_CONTAINER = parse_spec(
    "t",
    "-f=r --file=r --env-file=r --cidfile=w --iidfile=w --mount=p -v=p --volume=p -w=p -e=p --env=p --name=p -p=p -t=p --tag=p"
    " --build-context=r --secret=p --ssh=p --config=b -H=p --context=p -o=w --output=w --input=r -i=p --project-directory=b"
    " --security-opt=p --device=b --volumes-from=p --network=p -u=p --user=p --entrypoint=p --label-file=r",
)
_VALUE = re.compile(r"[A-Za-z_]\w*[:?+!]*=(.*)", re.DOTALL)
_SHORT_I = re.compile(r"-[itdPq]+")


def run_make(call: Call) -> None:
    """Analyze `make`: recipes are programs of the project; a variable on the command line can be one, too."""
    call.opaque()
    operands, _ = split_options(call, _MAKE)
    for word in operands:
        found = _VALUE.fullmatch(word.text)
        if found and re.search(r"\s", found.group(1)):
            call.run_text(found.group(1))
        elif found:
            use_hidden_paths(call, word)


def run_container(call: Call) -> None:
    """Analyze `docker`, `podman`: volumes are folders of this machine; commands inside the container are unknown."""
    call.network()
    call.opaque()
    words = [word for word in call.arguments if not _SHORT_I.fullmatch(word.text)]
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if text in ("-v", "--volume"):
            _record_volume(call, following)
        elif text.startswith("--volume="):
            _record_volume(call, text.partition("=")[2])
        elif re.match(r"-v.", text):
            _record_volume(call, text[2:])
        elif "--mount" in (text, text.partition("=")[0]):
            _record_mount(call, text.partition("=")[2] or following)
    operands, _ = split_options(Call(call.program, words, call.state, call.runner), _CONTAINER)
    _record_operands(call, [word.text for word in operands])


def _record_volume(call: Call, text: str) -> None:
    source = text.partition(":")[0]
    if source.startswith(("/", ".", "~")):
        call.use_text(call.state.home + source[1:] if source.startswith("~") else source, "rw")


def _record_mount(call: Call, text: str) -> None:
    for pair in text.split(","):
        key, _, value = pair.partition("=")
        if key in ("src", "source"):
            call.use_text(value, "rw")


def _record_operands(call: Call, texts: list[str]) -> None:
    verb = texts[0] if texts else ""
    if verb in ("cp", "build", "import", "load", "save", "export", "buildx", "image"):
        for text in texts[1:]:
            if ":" not in text and "://" not in text:
                call.use(literal(text), "rw")


BUILDERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("make", "gmake", "bmake", "remake"), run_make),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "buildah", "lxc", "vagrant"), run_container
    ),
}
"""Programs that run instructions in a file of the project."""


# Archivers: the archive, the packed files, the target folder, and options that run programs.

_TAR = parse_spec(
    "r",
    "-f=b --file=b -C=b --directory=b -T=L --files-from=L -X=r --exclude-from=r -g=b --listed-incremental=b --index-file=w"
    " --to-command=x --checkpoint-action=x -I=x --use-compress-program=x --rsh-command=x --rmt-command=x -F=x --info-script=x"
    " --new-volume-script=x -P=! --absolute-names=! --exclude=t --transform=t --xform=t -b=t -H=t --format=t --owner=t --group=t"
    " --mode=t --mtime=t -N=t -K=t -V=t --strip-components=t --newer=t --one-top-level=w --suffix=t --checkpoint=t --volno-file=b",
)
_ZIP = parse_spec("r", "-@=! -TT=x -b=b -x=t -i=t -n=t -P=t -t=t -O=w --out=w --unzip-command=x")
_UNZIP = parse_spec("r", "-d=w -x=t -P=t -O=t -I=t")
_SEVEN = parse_spec("b", "-o=w -w=w -i=r -x=t -p=t")
_CPIO = parse_spec("r", "-F=b --file=b -D=b --directory=b -E=r -I=r -O=w -H=t -R=t --to-stdout=t --rsh-command=x -M=t")


def run_tar(call: Call) -> None:
    """Analyze `tar`, also with the old syntax of option characters first, without a dash."""
    words = call.arguments
    if words and not words[0].text.startswith("-"):
        words = _dashed(words)
    texts = [word.text for word in words]
    letters = "".join(text[1:] for text in texts if re.fullmatch(r"-[A-Za-z]+", text)) + " ".join(texts)
    operands, _ = split_options(Call(call.program, words, call.state, call.runner), _TAR)
    if any(re.match(r"--(?:to-c|use-c|checkpoint-a|rsh|rmt|info-s|new-v)|--abs", text) for text in texts):
        call.opaque()
    first = next((text for text in texts if re.fullmatch(r"-[A-Za-z]+.*", text)), "")
    lists = re.search(r"t", first) is not None or "--list" in texts
    packs = bool(re.search(r"[cruA]", first)) or "--create" in letters or "--append" in letters or "--update" in letters
    if packs:
        for word in operands:
            call.use(word, "rw" if "--remove-files" in texts else "r")
            call.tree(word)
    elif not lists:
        call.runner.poison()  # what is unpacked can be links
    if any(":" in text and not text.startswith("-") and "/" not in text.partition(":")[0] for text in texts[:3]):
        call.network()


def _dashed(words: list[Word]) -> list[Word]:
    """Return tar's words with a leading cluster of characters replaced by options, each followed by its value."""
    letters, rest = words[0].text, list(words[1:])
    options: list[Word] = []
    for letter in filter(str.isalpha, letters):
        options.append(literal(f"-{letter}"))
        if letter in "fCTXgIFbHNKV" and rest:
            options.append(rest.pop(0))
    return [*options, *rest]


def run_zip(call: Call) -> None:
    """Analyze `zip`: the first operand is written, the others are read."""
    operands, _ = split_options(call, _ZIP)
    for index, word in enumerate(operands):
        call.use(word, "r" if index else "rw")
        if index and any(re.match(r"-[A-Za-z]*r|--recurse", text) for text in call.texts()):
            call.tree(word)
    if "-TT" in call.texts() or "--unzip-command" in " ".join(call.texts()):
        call.opaque()


def run_unzip(call: Call) -> None:
    """Analyze `unzip`: the first operand is read, the others are names inside the archive."""
    operands, _ = split_options(call, _UNZIP)
    for word in operands[:1]:
        call.use(word, "r")
    if not given(call.texts(), "-l -p -t -v -Z"):
        call.runner.poison()  # as for tar
    if any(re.fullmatch(r"-[a-zA-Z]*:[a-zA-Z]*", text) for text in call.texts()):
        call.opaque()


def run_seven_zip(call: Call) -> None:
    """Analyze `7z`: a command character, the archive, and the packed or unpacked files."""
    operands, _ = split_options(call, _SEVEN)
    packs = bool(operands) and operands[0].text in ("a", "u")
    for index, word in enumerate(operands[1:]):
        mode: Mode = "rw" if index == 0 and packs else "r"
        call.use(word, mode)
        if index and packs:
            call.tree(word)


def run_cpio(call: Call) -> None:
    """Analyze `cpio`, `pax`: the file names are on standard input."""
    call.opaque()
    for word in split_options(call, _CPIO)[0]:
        call.use(word, "rw")


ARCHIVERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), run_tar),
    "zip": run_zip,
    **dict.fromkeys(("unzip", "bsdunzip"), run_unzip),
    **dict.fromkeys(("7z", "7za", "7zr", "rar", "unrar"), run_seven_zip),
    **dict.fromkeys(("cpio", "pax"), run_cpio),
}
"""Programs that pack and unpack."""


def find_analyzer(name: str) -> Callable[[Call], None] | None:
    """Return the analyzer of a program, None if a line of the table describes it."""
    return _ANALYSERS.get(name)


_ANALYSERS: Mapping[str, Callable[[Call], None]] = {
    "git": run_git,
    "kill": end_process,
    **BUILTINS,
    **INTERPRETERS,
    **SEARCHERS,
    **TEXT_PROGRAMS,
    **ARCHIVERS,
    **COPIERS,
    **REMOTES,
    **BUILDERS,
}
