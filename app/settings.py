"""Everything that the environment may say, in one place.

Only ``app.main`` reads this module (import-linter holds it); the rest of the code is handed values.
Secrets come from the environment alone and never appear in a ``repr``.  Each setting is documented
by its description, and ``docs/deployment.md`` names them all
(``tests/architecture/test_settings_documented.py``).
"""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The settings of one process.  The name of a variable is its field's name in upper case."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True
    )

    database_url: str = Field(
        "",
        pattern=r"^$|^postgres(ql)?://",
        repr=False,
        description="Postgres, as `postgresql://USER:PASSWORD@HOST:PORT/NAME`. May name several "
        "hosts with `target_session_attrs=read-write`. Must reach the server directly, not through "
        "a transaction-pooling proxy. Empty: `ropewalk dev` starts its own.",
    )
    redis_url: str = Field(
        "",
        pattern=r"^$|^(rediss?|unix)://",
        repr=False,
        description="Redis, as `redis://:PASSWORD@HOST:PORT/0`, run with `maxmemory-policy "
        "noeviction`. Empty: `ropewalk dev` starts its own.",
    )
    redis_namespace: str = Field(
        "rw",
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="Prefix of every Redis key and channel: deployments can share a server.",
    )
    host: str = Field("127.0.0.1", description="Address that the gateway listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the gateway listens on.")

    listen_fd: int | None = Field(
        None,
        ge=3,
        description="Descriptor of a socket that listens already, as a supervisor hands it down; "
        "then HOST and PORT are not used.",
    )

    allowed_origins: str = Field(
        "",
        pattern=r"^\s*(,\s*|(null|[A-Za-z][\w+.-]*://[^\s/,@?#*]+/?)\s*(,\s*|$))*$",
        description="Pages that may open a socket and call the HTTP routes, as "
        "`https://chat.example.com`, separated by commas. Empty: all may.",
    )

    jwt_secret: SecretStr | None = Field(
        None, description="Shared secret (HS256) that tokens are signed with; at least 32 bytes."
    )
    jwt_public_key: str | None = Field(
        None, description="Public key (PEM) that tokens are checked against, instead of a secret."
    )
    jwks_url: str | None = Field(
        None, description="Where an identity provider publishes its keys, instead of a secret."
    )
    jwt_issuer: str | None = Field(None, description="Required `iss` of a token, if set.")
    jwt_audience: str | None = Field(None, description="Required `aud` of a token, if set.")
    jwt_leeway: float = Field(
        10, ge=0, description="Seconds by which clocks may differ when a token's times are checked."
    )
    jwt_roles_claim: str = Field(
        "roles", description="Claim that lists a user's roles; `a.b` reaches into an object."
    )

    authenticate: str | None = Field(
        None,
        description="The team's own async function that judges tokens instead of a key, as "
        "`agents.auth:authenticate`: takes the token, returns an `Identity` or `None`.",
    )
    calls_per_second: float = Field(
        1000,
        ge=0,
        le=100_000,
        description="Calls that one user may make each second, of all gateways together; whoever "
        "is anonymous counts by address. 0: no limit.",
    )
    calls_burst: int = Field(
        2000, ge=1, le=1_000_000, description="Calls that may come at once before that limit holds."
    )
    trusted_proxies: int = Field(
        0,
        ge=0,
        le=10,
        description="Proxies in front that add to `X-Forwarded-For`. 0: the header is not "
        "believed, and a caller's address is that of the connection.",
    )

    open_threads_decide: bool = Field(
        default=False,
        description="`on` lets whoever knows the key of a thread without an owner decide its "
        "approvals; else only admins do.",
    )

    webhook_url: str | None = Field(
        None,
        pattern=r"^https?://",
        description="Where other systems are told of `approval.requested`, `approval.decided`, "
        "`run.completed` and `run.failed`. Needs WEBHOOK_SECRET.",
    )
    webhook_secret: SecretStr | None = Field(
        None, description="With which the webhook's bodies are signed; at least 16 characters."
    )

    project_manage_roles: str = Field(
        "",
        description="Roles that may say who uses an agent, who decides what it asks, and which "
        "models may be chosen (`project:manage`), separated by commas. `admin` may always.",
    )
    project_deploy_roles: str = Field(
        "",
        description="Roles that may publish what counts over an agent's code, and take it back "
        "(`project:deploy`), separated by commas. `admin` may always.",
    )

    ropewalk_model: str = Field(
        "",
        description="Model of agents that say `default`, as `provider:model`. Empty: the provider "
        "whose key is set (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`), else the scripted `demo:`.",
    )
    demo_delay_ms: float = Field(
        25, ge=0, description="Milliseconds that the scripted model waits before each word."
    )
    stream_tokens: bool = Field(
        default=True, description="`off` makes every model request a plain, unstreamed one."
    )
    agents: Path = Field(
        Path("agents"),
        description="Folder of agents and functions to load, as the package `agents`.",
    )
    codegen: Path | None = Field(
        None,
        description="File that `ropewalk codegen` writes and `ropewalk dev` keeps fresh: the "
        "TypeScript of your functions and agents.",
    )

    worker_slots: int = Field(
        200, ge=1, le=10_000, description="Runs that one worker process drives at once."
    )
    worker_metrics_port: int = Field(
        0,
        ge=0,
        le=65535,
        description="Port at which a worker serves `/metrics`, on HOST; 0: nowhere.",
    )
    max_attempts: int = Field(
        5,
        ge=1,
        le=100,
        description="Takeovers of one run from workers that died, without a finished step between "
        "them, before the run fails.",
    )
    drain_s: float = Field(
        10,
        ge=0,
        description="Seconds that a tool in flight gets to finish when a worker is told to stop.",
    )
    loop_stuck_s: float = Field(
        300,
        gt=0,
        description="Seconds after which a worker whose event loop stands still is killed.",
    )

    log_format: Literal["text", "json"] = Field(
        "text", description="`text` for people, `json` for log collectors."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="The least level that is logged."
    )
    dev: bool = Field(
        default=False,
        validation_alias="ROPEWALK_DEV",
        description="Set by `ropewalk dev`: the gateway serves the demo chat at `/` and mints "
        "it a token.",
    )
    dev_sign_in: Literal["here", "anyone"] = Field(
        "here",
        description="Whom `ropewalk dev` gives a token that signs in, as an admin too, like its "
        "`--sign-in`. `here`: programs on the same machine, not through a proxy. `anyone`: all who "
        "reach the server, as behind the published port of a container.",
    )

    @property
    def origins(self) -> frozenset[str] | None:
        """The pages that may open a socket and call the routes; ``None``: all may."""
        named = (each.strip().rstrip("/") for each in self.allowed_origins.split(","))
        return frozenset(filter(None, named)) or None

    @property
    def drain(self) -> timedelta:
        """How long a tool in flight gets to finish when its worker is told to stop."""
        return timedelta(seconds=self.drain_s)


def roles_in(listed: str) -> frozenset[str]:
    """Return the roles of a setting that lists them."""
    return frozenset(filter(None, (each.strip() for each in listed.split(","))))
