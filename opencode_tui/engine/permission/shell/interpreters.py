"""Shells and language interpreters: programs given as an argument, a file or on standard input."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from msgspec.structs import replace

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.naming import names
from opencode_tui.engine.permission.shell.operands import apply_spec, split_options
from opencode_tui.engine.permission.shell.tables import ASSUMED, UNLISTED, parse_spec
from opencode_tui.engine.permission.shell.words import literal

_SHELL_VALUED = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_SCRIPT = parse_spec("w", "-c=p --command=p -E=t -o=t -O=w -I=w -B=w -T=w -m=t")
_SCHEDULER = parse_spec("t", "-f=r -u=t -q=t -t=t")
_LITERAL = re.compile(r"(['\"])((?:~|\.\.|/)[^'\"\s]*|[^'\"\s]*\.env(?:\.\w+)?)\1")
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ceEprR]|--eval|--print|--command")
_QUIET = names("-V -VV -v -h --version --help -version")
_MODULES = names(
    "pytest unittest ruff black isort mypy pyright flake8 pylint coverage compileall py_compile tabnanny"
    " platform site sysconfig"
)
"""Modules that run what the project says, or nothing; like test runners they are not opaque."""

_NETWORK_MODULES = names("pip http.server ensurepip twine venv build smtpd ftplib webbrowser")


def run_shell(call: Call) -> None:
    """Analyze `bash` and similar shells: `-c` takes a script, a word is a script file, else the script is standard input."""
    call.opaque()
    waiting = list(call.arguments)
    is_text = False
    while waiting and waiting[0].known and re.match(r"[-+].", waiting[0].text):
        text = waiting.pop(0).text
        if text in _SHELL_VALUED and waiting:
            value = waiting.pop(0)
            call.use(value, "r") if text.startswith("--") else None
        elif text == "--":
            break
        elif not text.startswith("--"):
            is_text = is_text or (text[0] == "-" and "c" in text)
    if is_text and waiting:
        call.run_text(waiting[0].text)
    elif waiting and waiting[0].text not in ("-", "-s"):
        call.use(waiting[0], "r")
        apply_spec(replace(call, arguments=waiting[1:]), UNLISTED)
    elif call.stdin is not None:
        call.run_text(call.stdin)


def switch_user(call: Call) -> None:
    """Analyze `su`, `runuser`, `sg`, `script`: another shell, whose script follows `-c`."""
    call.opaque()
    words = call.arguments
    for index, word in enumerate(words):
        if re.fullmatch(r"-[A-Za-z]*c|--command", word.text) and index + 1 < len(words):
            call.run_text(words[index + 1].text)
        elif word.text.startswith("--command="):
            call.run_text(word.text.partition("=")[2])
        elif call.name == "sg" and index == len(words) - 1 and index:
            call.run_text(word.text)
        elif word.text == "--" and call.name == "runuser":
            call.run_words(words[index + 1 :])
    if call.name == "script":
        for word in split_options(call, _SCRIPT)[0]:
            call.use(word, "w")


def schedule(call: Call) -> None:
    """Analyze `at`, `batch`, `crontab`: the script is standard input or a file, and runs later."""
    call.opaque()
    if call.stdin is not None:
        call.run_text(call.stdin)
    for word in split_options(call, _SCHEDULER)[0]:
        if "/" in word.text:
            call.use(word, "r")


def run_language(call: Call) -> None:
    """Analyze `python`, `node` and similar: the program is code; paths and names of secrets in it are recorded."""
    texts = call.texts()
    if len(texts) == 1 and texts[0] in _QUIET:
        return
    if len(texts) > 1 and texts[0] == "-m":
        _run_module(call)
        return
    call.opaque()
    code = [text for option, text in pairwise(texts) if _CODE_OPTION.fullmatch(option)]
    code += [text for text in texts if text.startswith(("--eval=", "--print=", "-e"))]
    for program in (*code, call.stdin or ""):
        note_literals(call, program)
    rest = [word for word in call.arguments if word.text not in code]
    apply_spec(replace(call, arguments=rest), UNLISTED)


def _run_module(call: Call) -> None:
    module = call.arguments[1].text
    if module not in _MODULES:
        call.opaque()
    if module in _NETWORK_MODULES:
        call.network()
    if module == "pip":
        call.run_words([literal("pip"), *call.arguments[2:]])
    else:
        apply_spec(replace(call, arguments=call.arguments[2:]), ASSUMED)


def note_literals(call: Call, program: str) -> None:
    """Record quoted strings in a program that are paths outside or names of secrets; their use is unknown."""
    for found in _LITERAL.finditer(program[:20_000]):
        text = found.group(2)
        if is_secret(text) or (len(text) > 1 and not text.startswith("//") and re.fullmatch(r"[\w./~+-]+", text)):
            call.guess(literal(call.state.home + text[1:] if text.startswith("~") else text))


INTERPRETERS: Mapping[str, Callable[[Call], None]] = {
    **dict.fromkeys(
        names("bash sh dash ash zsh ksh mksh yash fish csh tcsh rbash nu elvish xonsh pwsh powershell cmd"), run_shell
    ),
    **dict.fromkeys(names("su runuser sg newgrp script"), switch_user),
    **dict.fromkeys(("at", "batch", "crontab", "anacron"), schedule),
    **dict.fromkeys(
        names(
            "python pypy python2 perl ruby node nodejs php lua luajit Rscript R julia ghci runghc runhaskell groovy scala"
            " kotlin clojure elixir iex erl escript tclsh wish guile racket sbcl clisp java jshell swipl ocaml raku irb"
            " ipython jupyter streamlit uvicorn gunicorn flask django-admin octave m4"
        ),
        run_language,
    ),
}
"""Programs whose argument is a program."""
