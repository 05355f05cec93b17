"""Answers in a form that was asked for: a tool that takes them, and the check against the schema. Source: reference, section 24.

The model gets the tool `StructuredOutput` whose input is the schema, and must call some tool. A call that fits is the answer.
"""

from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.schema.error import StoredStructuredOutputError, StructuredOutputData
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.message import OutputFormat

TOOL = "StructuredOutput"
RETRIES = 2
"""How often the model is asked again, unless the request says otherwise."""

INSTRUCTION = (
    f"The person wants the answer in a fixed form. When everything is done, call the tool {TOOL} once with the whole answer; "
    "text beside it is not read."
)
_DESCRIPTION = "Gives the final answer in the form that was asked for. Call it exactly once, at the end."


class StructuredAnswer:
    """What a turn with a fixed form is about: the schema, and the answer once there is one."""

    def __init__(self, wanted: OutputFormat) -> None:
        self._schema: JsonObject = wanted.schema_ or {"type": "object"}
        self._retries_left = wanted.retry_count if wanted.retry_count is not None else RETRIES
        self._problem = "the model gave no structured answer"
        self.value: JsonObject | None = None

    @property
    def is_final(self) -> bool:
        """Tell whether there is an answer, or none can come any more."""
        return self.value is not None or self._retries_left < 0

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(TOOL, _DESCRIPTION, {**self._schema, "type": "object"})

    def submit(self, given: JsonObject) -> str | None:
        """Take an answer; returns None when it fits, else what is wrong with it, for the model."""
        problem = _first_problem(given, self._schema)
        if problem is None:
            self.value = given
            return None
        self._problem = problem
        return f"The answer does not fit the schema: {problem}. Call {TOOL} again with an answer that fits."

    def try_again(self) -> bool:
        """Tell whether the model may be asked once more after it ended without an answer; counts down."""
        self._retries_left -= 1
        return self._retries_left >= 0

    def failure(self) -> StoredStructuredOutputError:
        """Return what the message stores when no answer came."""
        return StoredStructuredOutputError(data=StructuredOutputData(message=self._problem, retries=0))


def structured_answer(wanted: OutputFormat | None) -> StructuredAnswer | None:
    """Return the answer's holder when a request asks for a fixed form."""
    return StructuredAnswer(wanted) if wanted is not None and wanted.type == "json_schema" else None


def _first_problem(given: JsonObject, schema: JsonObject) -> str | None:
    from jsonschema import Draft202012Validator, SchemaError  # needed by the few requests that ask for a form

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"the schema itself is wrong: {error.message}"
    problem = next(Draft202012Validator(schema).iter_errors(given), None)
    if problem is None:
        return None
    place = ".".join(str(step) for step in problem.absolute_path)
    return f"{place}: {problem.message}" if place else problem.message
