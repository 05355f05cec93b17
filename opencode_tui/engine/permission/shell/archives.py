"""Archivers: the archive, the packed files, the target folder, and options that run programs."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.operands import split_options
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word, literal

_TAR = parse_spec(
    "r",
    "-f=b --file=b -C=b --directory=b -T=r --files-from=r -X=r --exclude-from=r -g=b --listed-incremental=b --index-file=w"
    " --to-command=x --checkpoint-action=x -I=x --use-compress-program=x --rsh-command=x --rmt-command=x -F=x --info-script=x"
    " --new-volume-script=x -P=! --absolute-names=! --exclude=t --transform=t --xform=t -b=t -H=t --format=t --owner=t --group=t"
    " --mode=t --mtime=t -N=t -K=t -V=t --strip-components=t --newer=t --one-top-level=w --suffix=t --checkpoint=t --volno-file=b",
)
_ZIP = parse_spec("r", "-TT=x -b=b -x=t -i=t -n=t -P=t -t=t -O=w --out=w --unzip-command=x")
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
    packs = bool(re.search(r"[cruA]", first)) or "--create" in letters or "--append" in letters or "--update" in letters
    if packs:
        for word in operands:
            call.use(word, "rw" if "--remove-files" in texts else "r")
            call.tree(word)
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
