"""Names of definitions keep to the glossary of AGENTS.md."""

from pathlib import Path

from tests.support.source_tree import banned_definitions, read_source_tree, split_words

_LEFTOVERS = """
    AskPerson.settle AttachmentScreen.told AutoApprove.settle Background.settled BackgroundTold
    BlockBuilder.take_back Budget.takes ChatScreen.forget_note ChatScreen.offer_completions ChatScreen.settle
    ChatScreen.settle_soon ChatScreen.take_key ChatScreen.tell Claims.forget Completions.Taken Control._mended
    Control._tell_undone Control.send.told Control.take Control.take_urgent DiffBody._settle Drawings.forget
    FileUndo.forget FileUndo.tell FinishedReverts.forget Flow._take FolderState._forget FolderState._take_status
    ForkCopies.settled ForkSource._mend ForkSource._taken FullTextScreen.told GrowingItem.settle Intake.take
    KeyRouter._take KeyRouter.take Lasting Listing._told Listing.offers Listing.take MessageView._tell_prompt
    ModeTable.told Notifier._tell ObjectWriter.settle Offer OpenCodeApp._takes OpenCodeApp._wear
    OpenCodeApp.on_background_told OpenCodeApp.take_selection OpenCodeApp.tell_failure OpenCodeApp.tell_terminal
    OpenCodeApp.wear OpenCodeApp.wear_theme OpenRecords.forget OpenRecords.forget_part Opened.told PageFoot.tell
    PanelHost.takes_escape Plumbing.take Policy.settle PreparedSummaries.take PromptBox.take
    PromptBox.take_completion ReadStamps.forget RefuseQuestions.settle Remark ReportRefusals.settle
    RunPrompts.settles RunRegistry.settled SessionCompaction._tell_to_continue SessionFacts._take_call
    SessionFacts._take_message SessionFacts._take_part SessionLoop._take_step SessionLoop._take_subtasks
    SessionStore.take_back SessionSubagents.offered SessionTitles.offer SessionsHead.tell Settling Settling.settle
    Settling.tell ShownItems._tell ShownItems.forget ShownItems.take Snapshots.forget Snapshots.revert.work.tell
    Stage._take_back State.settle StepChanges.is_settled StepChanges.settle StepProcessor._take StepProcessor.settle
    StepRecording.settle StepRecording.settle_writes StructuredAnswer.is_settled StructuredAnswer.offer
    Subagents.offered SummaryStep.take ToolCalls._take_form Transcript._settle_queue Transcript.take_changes
    Transcript.tell_undone UndoActs.tell_files ViewRequests.on_completions_taken Viewport.take_changes
    Worktree._take_back WorktreeDoor WritingActs._is_told WritingActs._take_back _Child.forget _Inbox._take
    _Pending.settle _Reading.take _Standing _Surviving.tell_failure _forget_current_folder _mend _settle_queue
    _standing_sentences _stands_for _take_attributes _take_form _take_line _take_update_line _taken _takes_text
    _told agent_offer graft obeying.taking offered remarks settle_marks take_dead_steps taken_over
    tells_refused_media told_limit
"""
LEFTOVERS = frozenset(_LEFTOVERS.split())
"""Definitions that still have such a name; the list may only become shorter."""


def test_no_new_definition_has_a_banned_word_in_its_name() -> None:
    tree = read_source_tree(Path(__file__).parents[1])
    assert len(tree.modules) > 100
    banned = [found for found in banned_definitions(tree) if found.qualified_name not in LEFTOVERS]
    assert [f"{found.path}:{found.line} {found.qualified_name}" for found in banned] == []


def test_a_name_is_split_at_underscores_and_capitals() -> None:
    assert split_words("_take_backHTTPDoor2") == ["take", "back", "http", "door"]
    assert split_words("understand") == ["understand"]
