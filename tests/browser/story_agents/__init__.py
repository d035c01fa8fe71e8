"""An agent for the example apps: quick, and it holds its tongue in mid-sentence when told to."""
