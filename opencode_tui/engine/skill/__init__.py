"""Skills: folders with instructions for one kind of work, which the model loads when it needs them."""
