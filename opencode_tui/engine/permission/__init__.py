"""What a run may do: rules and their evaluation, questions to the person, what the person allowed for good, shell commands."""
