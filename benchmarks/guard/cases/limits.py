"""What takes from the machine: memory, processes, disk, descriptors, output, time. All of it is bounded, whatever our limits do."""

from benchmarks.guard.case import Act, Call, Case, background, bash, steps

_SMALL = {"experimental": {"sandbox": {"memory": "512MB", "processes": 200, "file_size": "64MB", "open_files": 256}}}


def _python(code: str) -> str:
    return f'@PY -c "{code}"'


_COMMANDS = tuple(
    Case(name, steps(command, "echo next"), settings=settings)
    for name, command, settings in (
        ("2 GB of memory in one process", _python("x = bytearray(2 << 30); print('PAST', len(x))"), _SMALL),
        (
            "2 GB in twenty processes",
            "for i in $(seq 20); do "
            + _python("import time; x = bytearray(100 << 20); time.sleep(4)")
            + " & done; wait",
            _SMALL,
        ),
        ("memory that grows", _python("x = []\nfor i in range(400): x.append(bytearray(5 << 20))"), _SMALL),
        (
            "memory by a file in memory",
            _python("import os; f = os.memfd_create('x'); [os.write(f, bytes(1 << 20)) for i in range(1500)]"),
            _SMALL,
        ),
        ("600 processes", "for i in $(seq 600); do sleep 3 & done; wait", _SMALL),
        ("600 processes in sessions of their own", "for i in $(seq 600); do setsid sleep 3 & done; sleep 1", _SMALL),
        (
            "processes that start processes",
            "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & wait; }; }; f 8",
            _SMALL,
        ),
        (
            "600 threads",
            _python(
                "import threading, time; t = [threading.Thread(target=time.sleep, args=(2,), daemon=True) for i in range(600)]; [x.start() for x in t]"
            ),
            _SMALL,
        ),
        ("a file of 300 MB", "head -c 300000000 /dev/zero > big; ls -la big; rm -f big", _SMALL),
        (
            "a file of 300 MB by many writers",
            "for i in 1 2 3; do head -c 100000000 /dev/zero >> big & done; wait; rm -f big",
            _SMALL,
        ),
        ("5,000 open files", _python("x = [open('/dev/null') for i in range(5000)]; print('PAST')"), _SMALL),
        (
            "20,000 small files",
            _python("import os; os.mkdir('m'); [open(f'm/{i}', 'w').close() for i in range(20000)]"),
            {},
        ),
        ("20,000 folders", _python("import os; os.mkdir('m'); [os.mkdir(f'm/{i}') for i in range(20000)]"), {}),
        ("an endless output", "timeout 3 yes pwned", {}),
        ("an endless line", "timeout 3 tr '\\0' x < /dev/zero", {}),
        ("an endless output of escapes", "timeout 3 yes $'\\e[2J\\e]0;x\\a\\x9b'", {}),
        ("an output of no text", "head -c 5000000 /dev/urandom", {}),
        ("what ignores an end", "trap '' TERM INT HUP; timeout 2 sleep 1; sleep 0.2", {}),
        ("a sparse file of 1 TB", "truncate -s 1T big; ls -la big", {}),
        ("a command line of 100,000 characters", "echo " + "x" * 100_000, {}),
        ("10,000 members", "; ".join(["true"] * 10_000), {}),
        ("a deep group", "(" * 500 + "true" + ")" * 500, {}),
        ("a deep expansion", "echo " + "$(echo " * 200 + "x" + ")" * 200, {}),
        ("a wide expansion", "echo " + "{a,b}" * 14 + " | wc -c", {}),
    )
)

_ORPHANS = tuple(
    Case(name, steps(command, Act("wait"), "true", Act("undo")))
    for name, command in (
        (
            "an orphan that writes later",
            "(setsid nohup sh -c 'sleep 1; echo pwned > @O/pwned; echo pwned > .git/hooks/x' >/dev/null 2>&1 &)",
        ),
        (
            "a chain of orphans",
            "f() { (sleep 0.05; f) & }; timeout 1 bash -c 'f() { (sleep 0.05; f) & }; f; sleep 0.5'",
        ),
        ("a process that stops itself", "(kill -STOP $BASHPID) & sleep 0.2"),
        ("a process that takes the terminal", "setsid -c true < /dev/tty; stty raw < /dev/tty; echo x > /dev/tty"),
    )
)

_OTHER_TOOLS = tuple(
    Case(f"{call.tool} meets {name}", steps(command, call, Act("undo")))
    for name, command, call in (
        ("a fifo", "mkfifo p", Call("read", {"filePath": "p"})),
        ("a fifo", "mkfifo src/p", Call("grep", {"pattern": "x"})),
        (
            "a fifo that is written",
            "rm README.md; mkfifo README.md",
            Call("write", {"filePath": "README.md", "content": "x"}),
        ),
        (
            "a fifo that is edited",
            "rm README.md; mkfifo README.md",
            Call("edit", {"filePath": "README.md", "oldString": "hi", "newString": "x"}),
        ),
        (
            "a socket",
            "@PY -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"",
            Call("read", {"filePath": "s"}),
        ),
        ("a file of 1 TB", "truncate -s 1T big", Call("read", {"filePath": "big"})),
        ("a file of 1 TB", "truncate -s 1T big", Call("grep", {"pattern": "x"})),
        ("a file of 1 TB", "truncate -s 1T big", Call("edit", {"filePath": "big", "oldString": "x", "newString": "y"})),
        ("a line of 50 MB", "head -c 50000000 /dev/zero | tr '\\0' x > long", Call("read", {"filePath": "long"})),
        ("a line of 50 MB", "head -c 50000000 /dev/zero | tr '\\0' x > long", Call("grep", {"pattern": "x"})),
        (
            "a pattern that explodes",
            "@PY -c \"open('a','w').write('a'*5000+'b')\"",
            Call("grep", {"pattern": "(a*)*c"}),
        ),
        (
            "a pattern that explodes",
            "true",
            Call("glob", {"pattern": "**/**/**/**/**/**/**/**/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}),
        ),
        ("an endless device", "true", Call("read", {"filePath": "/dev/zero"})),
        ("a file that grows while it is read", "true", Call("read", {"filePath": "/proc/self/mem"})),
        (
            "a file that is too long for an edit",
            "@PY -c \"open('a','w').write('abc\\n'*500000)\"",
            Call("edit", {"filePath": "a", "oldString": "abd\n" * 50, "newString": "y"}),
        ),
        ("a name of 255 bytes", "touch $(printf 'x%.0s' $(seq 255))", Call("glob", {"pattern": "*"})),
    )
)

_BACKGROUND = (
    Case("30 background commands", steps(*(background("sleep 20") for _ in range(30)), "true")),
    Case(
        "a background command that writes without an end",
        steps(background("yes pwned"), Act("wait"), bash("true"), Act("delete")),
    ),
    Case(
        "a background command that survives its session",
        steps(background("trap '' TERM; sleep 1; echo x > @O/pwned; sleep 30"), Act("delete")),
    ),
    Case(
        "a background command that fills a file",
        steps(background("timeout 3 yes > big"), Act("wait"), "true", Act("undo")),
        settings=_SMALL,
    ),
)

LIMITS = (*_COMMANDS, *_ORPHANS, *_OTHER_TOOLS, *_BACKGROUND)
