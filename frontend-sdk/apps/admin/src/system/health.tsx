/** Whether the stores answer the gateway that serves this page, and how late its sockets hear. */

import { type ReactNode, useEffect, useState } from "react";
import { duration } from "../ui/moments.js";
import { Tile } from "../ui/tile.js";
import { withinOf } from "./metrics.js";

const AGAIN_MS = 10_000;
const LAG = "ropewalk_wire_lag_seconds";

interface Health {
  /** What each check says: `ok`, or what is wrong. */
  readonly checks: Readonly<Record<string, string>>;
  readonly metrics: string;
}

export function GatewayHealth(): ReactNode {
  const health = useHealth();
  if (health === undefined) return null;
  const lag = withinOf(health.metrics, LAG, 0.95);
  const checks = Object.entries(health.checks);
  const failing = checks.filter(([, said]) => said !== "ok");
  return (
    <>
      <Tile
        name="Stores, as this gateway sees them"
        value={failing.length === 0 ? "all well" : `${failing.length} failing`}
      >
        {failing.length === 0
          ? checks.map(([name]) => name).join(", ")
          : failing.map(([name, said]) => `${name}: ${said}`).join(". ")}
      </Tile>
      <Tile name="Wire lag, at most" value={lag === undefined ? "not known" : duration(lag * 1000)}>
        95 of 100 changes, commit to socket
      </Tile>
    </>
  );
}

function useHealth(): Health | undefined {
  const [health, setHealth] = useState<Health>();
  useEffect(() => {
    let gone = false;
    const look = () =>
      read().then(
        (found) => !gone && setHealth(found),
        // The page says by itself when the gateway is away.
        () => {},
      );
    void look();
    const timer = setInterval(look, AGAIN_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, []);
  return health;
}

async function read(): Promise<Health> {
  const [ready, metrics] = await Promise.all([fetch("/readyz"), fetch("/metrics")]);
  const { checks } = (await ready.json()) as Pick<Health, "checks">;
  // Where a proxy keeps the metrics to itself, there is just no lag to show.
  return { checks, metrics: metrics.ok ? await metrics.text() : "" };
}
