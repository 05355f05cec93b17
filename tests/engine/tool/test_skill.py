import pytest

from opencode_tui.engine.skill.skills import Skill, Skills
from opencode_tui.engine.tool.builtin.skill import SkillTool
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.world.tools import Workbench


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: reads PDF files\n---\nUse the script.\n")
    (folder / "run.py").write_text("")
    return Skills([Skill("pdf", "reads PDF files", folder / "SKILL.md", folder / "SKILL.md")])


def test_the_model_sees_each_skill_with_what_it_is_for(skills):
    assert SkillTool(skills=skills).description.endswith("Skills:\n- pdf: reads PDF files")


def test_many_long_descriptions_stay_within_bounds(tmp_path):
    many = Skills([Skill(f"s{number:03}", "x" * 1000, tmp_path / "SKILL.md", tmp_path) for number in range(100)])
    description = SkillTool(skills=many).description
    assert len(description) < 8_000
    assert all(f"- s{number:03}" in description for number in range(100))


async def test_loading_asks_by_name_and_gives_text_folder_and_files(skills, tmp_path):
    bench = Workbench(tmp_path)
    result = await bench.call(SkillTool(skills=skills), name="pdf")
    assert [(one.permission, one.patterns, one.always) for one in bench.asked] == [("skill", ["pdf"], ["pdf"])]
    assert result.output == "\n".join(
        [
            '<skill_content name="pdf">',
            "# Skill: pdf",
            "",
            "Use the script.",
            "",
            f"Base directory: {(tmp_path / 'pdf').as_uri()}",
            "",
            "<skill_files>",
            "<file>run.py</file>",
            "</skill_files>",
            "</skill_content>",
        ]
    )


async def test_an_unknown_skill_is_answered_with_those_there_are(skills, tmp_path):
    with pytest.raises(ToolError, match="there is no skill 'doc'; there are: pdf"):
        await Workbench(tmp_path).call(SkillTool(skills=skills), name="doc")


async def test_a_refused_skill_is_not_loaded(skills, tmp_path):
    with pytest.raises(RejectedError):
        await Workbench(tmp_path, refused={"skill"}).call(SkillTool(skills=skills), name="pdf")
