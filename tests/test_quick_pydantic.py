"""pydantic loads without the types of its schemas, and validates as before."""

import os
import subprocess
import sys

_PROGRAM = """
import sys, typing
from opencode_tui import quick_pydantic
before = [*sys.meta_path]
environ = {}
quick_pydantic.prepare(environ)
import pydantic, pydantic_core.core_schema as schemas, typing_extensions
assert sys.meta_path == before and environ == {quick_pydantic.PLUGIN_SCAN: "__all__"}
assert not hasattr(schemas.StringSchema, "__required_keys__"), "the types were built"
assert schemas.str_schema(min_length=1) == {"type": "str", "min_length": 1}
class Point(typing_extensions.TypedDict):
    x: int
    label: typing_extensions.NotRequired[str]
adapter = pydantic.TypeAdapter(list[Point])
assert adapter.validate_python([{"x": "1"}]) == [{"x": 1}]
assert adapter.json_schema()["$defs"]["Point"]["required"] == ["x"]
try:
    adapter.validate_python([{}])
except pydantic.ValidationError as error:
    assert error.errors()[0]["loc"] == (0, "x")
"""


def test_pydantic_validates_without_the_types_of_its_schemas() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env={**os.environ, "PYTHONPATH": os.getcwd()}, check=False)
    assert done.returncode == 0
