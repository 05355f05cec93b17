"""make and containers: they run instructions in a file of the project, and their options reach outside."""

import re
from collections.abc import Callable, Mapping

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.operands import split_options, use_hidden_paths
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import literal

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
            _note_volume(call, following)
        elif text.startswith("--volume="):
            _note_volume(call, text.partition("=")[2])
        elif re.match(r"-v.", text):
            _note_volume(call, text[2:])
        elif "--mount" in (text, text.partition("=")[0]):
            _note_mount(call, text.partition("=")[2] or following)
    operands, _ = split_options(Call(call.program, words, call.state, call.runner), _CONTAINER)
    _note_operands(call, [word.text for word in operands])


def _note_volume(call: Call, text: str) -> None:
    source = text.partition(":")[0]
    if source.startswith(("/", ".", "~")):
        call.use_text(call.state.home + source[1:] if source.startswith("~") else source, "rw")


def _note_mount(call: Call, text: str) -> None:
    for pair in text.split(","):
        key, _, value = pair.partition("=")
        if key in ("src", "source"):
            call.use_text(value, "rw")


def _note_operands(call: Call, texts: list[str]) -> None:
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
