"""Types of the grammar's nodes, grouped by their meaning for a scan. Source: tree-sitter-bash 0.25, node types."""

from opencode_tui.engine.permission.shell.naming import names

COMMANDS = names("command declaration_command unset_command")
REDIRECTS = names("file_redirect herestring_redirect heredoc_redirect")
SUBSTITUTIONS = names("command_substitution process_substitution")
BLOCKS = names(
    "program variable_assignments compound_statement do_group negated_command else_clause elif_clause case_item ERROR"
)
"""Nodes whose children are followed in order."""

IGNORED = names("comment heredoc_body heredoc_end heredoc_start file_descriptor")
"""Nodes without effect where a statement is expected; the body of a here-document is analyzed with its redirection."""

VALUES = names(
    "word number string raw_string ansi_c_string translated_string concatenation simple_expansion expansion variable_name"
    " command_substitution process_substitution arithmetic_expansion brace_expression extglob_pattern regex test_operator"
    " special_variable_name array subscript binary_expression unary_expression postfix_expression ternary_expression"
    " parenthesized_expression"
)
"""Words and expressions; any other node is unknown to the scan."""
