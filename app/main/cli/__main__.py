"""``python -m app.main.cli``: the command, whatever the environment's scripts are called."""

from app.main.cli import main

main()
