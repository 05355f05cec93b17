"""Commands that leave processes running in every way that a shell knows; `{n}` is a number of seconds that marks them."""

from tests.support.world.machine import PYTHON

_DAEMON = (
    "import os,sys,time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.closerange(0, 3)\n"
    "time.sleep(float(sys.argv[1]))"
)

TREES: dict[str, str] = {
    "background": "sleep {n} & echo started",
    "nohup": "nohup sleep {n} > /dev/null 2>&1 & echo started",
    "setsid": "setsid sleep {n} & echo started",
    "double fork": "(setsid bash -c 'sleep {n} & sleep {n}' &); echo started",
    "daemon": f"{PYTHON} -c '{_DAEMON}' {{n}}; echo started",
    "TERM ignored": "bash -c \"trap '' TERM HUP INT; sleep {n}; sleep {n}\" & echo started",
    "pipe held": "sleep {n} & exit 0",
    "stdin read": "cat; read -r line; sleep {n} < /dev/stdin & echo started",
    "environment cleared": "env -i sleep {n} & echo started",
    "all left but the pipe": "env -i setsid sleep {n} & echo started",
    "fork storm": "b() {{ [ $1 -gt 0 ] && {{ b $(($1-1)) & b $(($1-1)) & }}; sleep {n}; }}; b 6 & echo started",
    "hidden": "env -i setsid sleep {n} > /dev/null 2>&1 < /dev/null & sleep 0.03; echo started",
    "disowned": "sleep {n} > /dev/null 2>&1 & disown; echo started",
    "stopped": "sleep {n} & kill -STOP $!; echo started",
    "coprocess": "coproc sleep {n}; echo started",
    "process substitution": "echo started > >(sleep {n}; cat)",
    "pipeline": "sleep {n} | sleep {n} | sleep {n} & echo started",
    "many": "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep {n} & done; echo started",
    "nested shells": 'bash -c "bash -c \'bash -c \\"sleep {n}\\" & sleep {n}\' &"; echo started',
    "parallel xargs": "printf '%s\\n' {n} {n} {n} | xargs -P 3 -n 1 sleep & echo started",
    "own group": "set -m; sleep {n} & (sleep {n} &); echo started",
    "handler that starts another": "bash -c \"trap 'setsid sleep {n} & exit' TERM; sleep {n} & wait\" & echo started",
}
