# Two commands for a newcomer: `make run` and `make test`. The work is done by scripts/.
# PYTHON=/path/to/python3.12 names an interpreter; ARGS="--port 9000" is handed to `ropewalk dev`.
.PHONY: run test setup check lock clean crash-points chaos
.DEFAULT_GOAL := run

run: setup
	@exec .venv/bin/ropewalk dev $(ARGS)

test: setup
	@scripts/test all

setup:
	@scripts/setup

check: setup
	@scripts/check

# Kills workers and callers at every await point of the engine and its stores; PAIRS of them twice.
# SEED=7 repeats the draws, PLAY="..." one run that broke a law; ARGS="--visits 3 --freezes 1000".
crash-points: setup
	@.venv/bin/python -m tests.support.crash_points $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(SEED),--seed $(SEED)) $(if $(PLAY),--play "$(PLAY)") $(ARGS)

# Storms: everything breaks at once, under load. SECONDS=600 goes on for so long, SEED=1a2b3c4d repeats one;
# ARGS="--keep logs" keeps what the processes wrote, ARGS=--help names the rest.
chaos: setup
	@.venv/bin/python -m tests.support.chaos $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(SEED),--seed $(SEED)) $(ARGS)

lock:
	@scripts/lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache frontend-sdk/node_modules app/http/static
