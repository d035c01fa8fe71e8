"""An agent that never answers the same twice, for the branches of a conversation in a browser."""
