/** Runs by their ids. */

import { at } from "./address.js";
import type { Cancelled, Delivered, Event, Retried, RunView } from "./http.gen.js";
import type { RequestOptions, Transport } from "./transport.js";

/** A run; `output` is its answer, where a form was asked for and it was given. */
export interface Run<Output = unknown> extends Omit<RunView, "output"> {
  readonly output: Output | null;
}

export class RunsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get<Output = unknown>(runId: string, options?: RequestOptions): Promise<Run<Output>> {
    return await this.#transport.send({ method: "GET", path: at`/runs/${runId}` }, options);
  }

  /** End a run as cancelled; a finished one stays as it is. */
  async cancel(runId: string, options?: RequestOptions): Promise<Cancelled> {
    return await this.#post(at`/runs/${runId}/cancel`, undefined, options);
  }

  /** Let a run that failed, its session's newest, go on from its last finished step. */
  async retry(runId: string, options?: RequestOptions): Promise<Retried> {
    return await this.#post(at`/runs/${runId}/retry`, undefined, options);
  }

  /** Give an event to an unfinished run, and wake it if it waits for one of this name. */
  async sendEvent(runId: string, event: Event, options?: RequestOptions): Promise<Delivered> {
    return await this.#post(at`/runs/${runId}/events`, event, options);
  }

  async #post<T>(path: string, body: object | undefined, options?: RequestOptions): Promise<T> {
    return await this.#transport.send({ method: "POST", path, body }, options);
  }
}
