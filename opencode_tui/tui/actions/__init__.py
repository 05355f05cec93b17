"""Actions of the chat, by ID: each asks the controller, or opens a dialog or a screen."""
