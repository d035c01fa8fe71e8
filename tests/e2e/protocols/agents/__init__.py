"""An agent that says and does what the message says, for clients of other protocols."""
