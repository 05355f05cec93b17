"""What stands around the conversation in one line each: title, activity, status."""
