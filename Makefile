# Two commands for a newcomer: `make run` and `make test`. The work is done by scripts/.
# PYTHON=/path/to/python3.12 names an interpreter; ARGS="--port 9000" is handed to `ropewalk dev`.
.PHONY: run test setup check lock clean
.DEFAULT_GOAL := run

run: setup
	@exec .venv/bin/ropewalk dev $(ARGS)

test: setup
	@scripts/test all

setup:
	@scripts/setup

check: setup
	@scripts/check

lock:
	@scripts/lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache frontend-sdk/node_modules app/http/static/chat
