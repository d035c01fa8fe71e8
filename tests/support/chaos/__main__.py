"""``make chaos``: rounds of storms until the time is over or a law is broken.

python -m tests.support.chaos --seconds 600 --seed 1a2b3c4d
"""

import argparse
import secrets
import shutil
import sys
from pathlib import Path

from tests.support.chaos.breaks import BREAKS
from tests.support.chaos.campaign import storm_for
from tests.support.chaos.report import late, report
from tests.support.chaos.stores import running_stores
from tests.support.chaos.storm import HANDS, Course


def main() -> int:
    """Storm; return 1 when a law was broken."""
    given = _arguments()
    _say(f"SEED={given.seed}")
    course = Course(
        given.seed,
        rage_s=given.rage,
        calm_s=given.calm,
        singles=given.singles,
        talkers=given.talkers,
        watchers=given.watchers,
        hands=tuple(given.hands.split(",")),
        stops_at_once=given.stops_at_once,
    )
    with running_stores() as stores:
        try:
            rounds = storm_for(
                stores,
                course,
                seconds=given.seconds,
                breaks=given.breaks,
                on_round=lambda one: _say(f"{one.course.seed}: {one.summary}"),
            )
        finally:
            if given.keep is not None:
                _keep(stores.folder, given.keep)
    _say(report(rounds))
    broken = [sentence for one in rounds for sentence in one.violations]
    if not given.breaks:
        broken += late(rounds)
    for sentence in broken:
        _say(f"VIOLATION {sentence}")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on")
    parser.add_argument(
        "--seed", default=secrets.token_hex(4), help="decides what breaks, and when"
    )
    parser.add_argument("--rage", type=float, default=40, help="seconds of faults in each round")
    parser.add_argument("--calm", type=float, default=5, help="seconds of calm that are measured")
    parser.add_argument("--singles", type=int, default=4, help="faults that are timed, in a round")
    parser.add_argument("--talkers", type=int, default=18)
    parser.add_argument("--watchers", type=int, default=18)
    parser.add_argument("--hands", default=",".join(HANDS), help="which kinds of faults")
    parser.add_argument("--breaks", default="", help=f"broken builds: {', '.join(BREAKS)}")
    parser.add_argument("--stops-at-once", action="store_true", help="end at the first violation")
    parser.add_argument("--keep", type=Path, help="where to copy the logs of all processes to")
    return parser.parse_args()


def _keep(folder: Path, to: Path) -> None:
    ignored = shutil.ignore_patterns("data", "*.sock", ".s.*", "password", "redis.conf")
    shutil.copytree(folder, to, ignore=ignored, dirs_exist_ok=True)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # a command of developers


if __name__ == "__main__":
    sys.exit(main())
