"""The composition root and the command line: settings are read and adapters built here alone."""
