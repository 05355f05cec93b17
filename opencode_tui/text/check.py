"""Words about the check of a session: what its last run did, and why no turn follows."""

from opencode_tui.schema.session.until import CheckFailure, CheckRun, Until
from opencode_tui.text.quantity import brief_duration, plural


def result_words(run: CheckRun | CheckFailure) -> str:
    """Return how the command ended, as `exit 1`."""
    if isinstance(run, CheckRun) and run.end == "refused":
        return "did not run"
    if run.exit is None:
        return "stopped"
    return "passed" if run.exit == 0 else f"exit {run.exit}"


def end_words(until: Until, run: CheckRun) -> str:
    """Return why no turn follows a failure, or which one does; empty where that is not said."""
    match run.end:
        case "turns":
            return f"no turn left of {until.turns}"
        case "same":
            return "the same failure 3 times in a row"
        case None if run.turn:
            return f"turn {run.turn} of {until.turns} follows"
        case _:
            return ""


def check_line(until: Until, run: CheckRun) -> str:
    """Return a line about a run of the check. It is not made safe: it holds the command."""
    took = brief_duration(run.took / 1000)
    command = " ".join(until.command.split())
    if run.has_passed:
        return f"Check passed after {took}: {command}"
    facts = [result_words(run), *([] if run.end == "refused" else [f"after {took}"])]
    end = end_words(until, run)
    return f"Check {'' if run.end == 'refused' else 'failed: '}{' '.join(facts)}{f'; {end}' if end else ''}: {command}"


def failure_words(failure: CheckFailure) -> str:
    """Return what a request of the program is about that sends a failed check to the model."""
    return f"Check failed: {result_words(failure)} (turn {failure.turn} of {failure.turns})"


def changed_words(number: int) -> str:
    """Return how many files were edited since a check; empty for 0."""
    return f"{plural(number, 'file')} edited since" if number else ""
