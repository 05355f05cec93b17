"""A line that stands for left-out code is refused by every tool that writes, and no other line is."""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.builtin.multiedit import MultieditTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.edit.placeholder import is_placeholder, refuse_placeholders
from opencode_tui.schema.error import ToolError
from tests.support.rows import each
from tests.support.world.tools import Workbench

LEFT_OUT = """\
// ... existing code ...
# ... rest of the code remains the same ...
(rest of methods ...)
// rest of methods ...
(unchanged code ...)
/* ... */
<!-- ... rest of the page ... -->
{/* ... existing components ... */}
-- rest of the file unchanged
# rest of the function unchanged
# ... existing imports
... existing code ...
...rest of code...
… rest of file unchanged …
[... rest of file unchanged ...]
[rest of the implementation remains unchanged]
// ...
# …
// Existing code remains unchanged
// other methods remain unchanged
# other functions stay the same
// code omitted for brevity
// ... (rest unchanged)
// [unchanged]
# same as before
// ... other imports ...
/* existing styles remain the same */
// Keep the rest of the code unchanged
<rest of code>
{# ... rest of template ... #}
; ... rest of config
// Rest of your code here
// ... remaining test cases ...
// no changes here
// --- snip ---
# [... existing code ...]
// ... keep the rest of the class as is ...
--[[ ... rest of file ... ]]
(* ... *)
{- ... rest of module ... -}
// The remaining code is unchanged.
/* rest of css */
{{!-- ... existing markup ... --}}
""".splitlines()

MEANT = """\
// Other methods
# the rest of the arguments are passed on
// Handle the remaining items...
...
...rest,
...otherProps,
{...props}
return ...
# Existing sessions keep their settings
foo(...)
// loading...
* Returns the rest of the line
# remaining lines
print("...")
'''...'''
- existing code is kept
# TODO: implement
(rest, first)
[rest]
<rest>
# the rest
# options below
# Configuration
x = [1, ..., 9]
// same as `foo`
""".splitlines()


def test_a_line_is_a_placeholder_if_it_only_says_that_something_was_left_out() -> None:
    assert [line for line in LEFT_OUT if not is_placeholder(line)] == []
    assert [line for line in MEANT if is_placeholder(line)] == []


@each(
    ("name", "new", "old", "is_refused"),
    [
        ("a.py", "a\n    # ... rest of the code ...\nb", "a\nc\nb", True),
        ("a.py", "a\n    # ... rest of the code ...\nb", "a\n# ... rest of the code ...\nb", False),  # it is the file's
        ("a.py", "x = 1  # ... rest of the code ...", "x", False),  # a part of a line
        ("a.py", "# for one:\n# ...\n# and two", "x", False),  # an example in a comment
        ("a.py", "# ...", "x", True),
        ("a.md", "```js\n// ... existing code ...\n```", "x", False),  # documentation shows such code
        ("a.md", "(rest of the document unchanged)", "x", True),
        ("a.txt", "(rest of methods ...)", "x", True),
    ],
)
def test_only_a_line_that_the_quote_lacks_counts(name: str, new: str, old: str, is_refused: bool) -> None:
    if is_refused:
        with pytest.raises(ToolError, match="in place of code that would be lost; write all lines"):
            refuse_placeholders(Path(name), new, old)
    else:
        refuse_placeholders(Path(name), new, old)


async def test_every_tool_that_writes_refuses_it(bench: Workbench) -> None:
    path = bench.folder / "a.py"
    path.write_text("a = 1\nb = 2\nc = 3\n")
    await bench.read("a.py")
    left_out = "a = 2\n# ... rest of the code unchanged\n"
    edit = {"oldString": "a = 1\nb = 2\n", "newString": left_out}
    patches = (
        "*** Update File: a.py\n@@\n-a = 1\n+a = 2\n+# ... rest of the code unchanged\n-b = 2",
        "*** Add File: a.py\n+a = 2\n+# ... existing code ...",
    )
    patch = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    for tool, call in (
        (EditTool(editor=bench.editor), edit),
        (MultieditTool(editor=bench.editor), {"edits": [edit]}),
        (WriteTool(editor=bench.editor), {"content": left_out}),
    ):
        with pytest.raises(ToolError, match="would be lost"):
            await bench.call(tool, filePath="a.py", **call)
    for text in patches:
        with pytest.raises(ToolError, match="would be lost"):
            await bench.call(patch, patchText=f"*** Begin Patch\n{text}\n*** End Patch")
    assert path.read_text() == "a = 1\nb = 2\nc = 3\n"


async def test_a_new_file_may_have_such_a_line(bench: Workbench) -> None:
    await bench.call(WriteTool(editor=bench.editor), filePath="a.js", content="// ... existing code ...\n")
    assert (bench.folder / "a.js").exists()
