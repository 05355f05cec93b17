"""Sign-ins with the browser to providers of models. Loaded only for a sign-in."""
