"""The file by which ``dev`` tells programs how it is reached and which processes it runs."""

import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pids:
    """The processes, by part; a store that is not ours has none."""

    dev: int
    gateway: tuple[int, ...]
    worker: tuple[int, ...]
    postgres: int | None
    redis: int | None


@dataclass(frozen=True)
class Ready:
    """What the file says."""

    url: str
    database_url: str
    redis_url: str
    pids: Pids

    def write(self, path: Path) -> None:
        """Replace the file in one go, so that a reader never sees half of it.

        It holds passwords, so only the user may read it.
        """
        content = {
            "url": self.url,
            "databaseUrl": self.database_url,
            "redisUrl": self.redis_url,
            "pids": {
                "dev": self.pids.dev,
                "gateway": list(self.pids.gateway),
                "worker": list(self.pids.worker),
                "postgres": self.pids.postgres,
                "redis": self.pids.redis,
            },
        }
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(content, indent=2) + "\n")
        unfinished.replace(path)
