"""Skills: folders with instructions for one kind of task, which the model loads when it needs them."""
