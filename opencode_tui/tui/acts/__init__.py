"""What a person does on the screen, by action id: each act asks the control, or opens what asks the person."""
