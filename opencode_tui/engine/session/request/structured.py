"""Structured answers: a tool that receives them, and the check against the schema.

Source: docs/internals/loop.md#structured-answers.

The model gets the tool `StructuredOutput` whose input is the schema, and must call a tool. A valid call is the answer.
"""

from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.message import OutputFormat
from opencode_tui.schema.session.stored_error import StoredStructuredOutputError, StructuredOutputData

TOOL = "StructuredOutput"
RETRIES = 2
"""Default number of retries."""

_SHOWN = 200

INSTRUCTION = (
    f"The user wants a structured answer. When everything is done, call the tool {TOOL} once with the whole answer; "
    "text outside of the call is not read."
)
_DESCRIPTION = "Gives the final answer in the requested form. Call it exactly once, at the end."


class StructuredAnswer:
    """The schema of a structured answer, and the answer once there is one."""

    def __init__(self, wanted: OutputFormat) -> None:
        self._schema: JsonObject = wanted.schema_ or {"type": "object"}
        self._retries_left = wanted.retry_count if wanted.retry_count is not None else RETRIES
        self._problem = "the model gave no structured answer"
        self.value: JsonObject | None = None
        self.was_rejected = False
        """Whether an answer of the present attempt did not match."""

    @property
    def is_final(self) -> bool:
        """Return whether there is an answer, or no further attempt."""
        return self.value is not None or self._retries_left < 0

    @property
    def spec(self) -> ToolSpec:
        """The tool specification for the model."""
        return ToolSpec(TOOL, _DESCRIPTION, {**self._schema, "type": "object"})

    def submit(self, given: JsonObject) -> str | None:
        """Check and store an answer; returns None when it is valid, else the problem, for the model. Blocks.

        Where the schema itself is the problem, no attempt is left.
        """
        try:
            problem = _first_problem(given, self._schema)
        except _SchemaProblem as error:
            problem, self._retries_left = f"the schema is invalid: {error}", 0
        if problem is None:
            self.value = given
            return None
        self._problem, self.was_rejected = problem, True
        return f"The answer does not match the schema: {problem}. Call {TOOL} again with a valid answer."

    def try_again(self) -> bool:
        """Return whether another attempt is left after one without a valid answer; counts down."""
        self._retries_left -= 1
        self.was_rejected = False
        return self._retries_left >= 0

    def failure(self) -> StoredStructuredOutputError:
        """Return the error to store when there is no answer."""
        return StoredStructuredOutputError(data=StructuredOutputData(message=self._problem, retries=0))


def structured_answer(wanted: OutputFormat | None) -> StructuredAnswer | None:
    """Return a holder for the answer when a request asks for a structured one."""
    return StructuredAnswer(wanted) if wanted is not None and wanted.type == "json_schema" else None


class _SchemaProblem(Exception):
    """What is wrong with a schema."""


def _first_problem(given: JsonObject, schema: JsonObject) -> str | None:
    """Return what is wrong with an answer. Raises _SchemaProblem. Nothing that the schema refers to elsewhere is fetched."""
    from jsonschema import Draft202012Validator, SchemaError  # needed by few requests
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
        problem = next(Draft202012Validator(schema, registry=REGISTRY).iter_errors(given), None)
    except SchemaError as error:
        raise _SchemaProblem(error.message) from error
    except Unresolvable as error:
        raise _SchemaProblem(f"{str(error)[:_SHOWN]}; put everything that it refers to below $defs") from error
    except RecursionError as error:
        raise _SchemaProblem("it refers to itself without an end") from error
    if problem is None:
        return None
    place = ".".join(str(step) for step in problem.absolute_path)
    return f"{place}: {problem.message}" if place else problem.message
