/**
 * The client for whoever needs no live view: servers, scripts, workers at the edge.
 *
 * It holds no connection and no state; all it needs of a runtime is `fetch`, and for streams a
 * body that can be read as it comes.
 */

import type { FunctionRef } from "../core/api.js";
import type { TokenSource } from "../core/connection.js";
import { type Environment, platform } from "../core/environment.js";
import { at } from "./address.js";
import { AgentsClient } from "./agents.js";
import { ApprovalsClient } from "./approvals.js";
import { RunsClient } from "./runs.js";
import { type Fetch, type RequestOptions, Transport } from "./transport.js";

export interface HttpClientOptions {
  /** The server, as `https://chat.example.com`. */
  readonly url: string;
  /** A token or API key, or a function that gets one; asked for each attempt. Default: anonymous. */
  readonly token?: TokenSource;
  /** For runtimes that have none of their own. */
  readonly fetch?: Fetch;
  /** How often a request that failed in passing is made again. Default: 3. */
  readonly retries?: number;
  /** How long an attempt may take. Default: a minute. */
  readonly timeoutMs?: number;
  /** Replaces clock, timers, chance; for tests. */
  readonly environment?: Partial<Environment>;
}

export class HttpClient {
  readonly agents: AgentsClient;
  readonly approvals: ApprovalsClient;
  readonly runs: RunsClient;
  readonly #transport: Transport;

  constructor(options: HttpClientOptions) {
    this.#transport = new Transport({
      url: options.url,
      token: options.token ?? null,
      // Called as a function of its own: a browser's insists on it.
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      retries: options.retries ?? 3,
      timeoutMs: options.timeoutMs ?? 60_000,
      environment: platform(options.environment),
    });
    this.agents = new AgentsClient(this.#transport);
    this.approvals = new ApprovalsClient(this.#transport);
    this.runs = new RunsClient(this.#transport);
  }

  /** Call a function of the application's, or ask a query, once. */
  async call<Args, Result>(
    fn: FunctionRef<Args, Result>,
    args: Args,
    options?: RequestOptions,
  ): Promise<Result> {
    const path = at`/functions/${fn}`;
    return await this.#transport.send({ method: "POST", path, body: args as object }, options);
  }
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new HttpClient(options);
}
