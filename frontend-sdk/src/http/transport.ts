/**
 * One request to its answer: token, attempts, pauses, errors.
 *
 * Law: every `POST` carries an `Idempotency-Key`, the same one in all its attempts, so a request
 * whose answer was lost is safely made again.  What failed in passing (no answer, 408, 429, 502,
 * 503, 504) is tried again a few times, later each time and never before the server said; all
 * other failures are the caller's to know at once.
 */

import type { TokenSource } from "../core/connection.js";
import { backoffMs } from "../core/connection-state.js";
import type { Environment } from "../core/environment.js";
import { asError } from "../core/errors.js";
import { HttpError, isPassing, refusal, unanswered } from "./http-error.js";

/** The part of the platform's `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RequestOptions {
  /** Ends the request, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The same request under the same key takes effect once. Default: a fresh one. */
  readonly idempotencyKey?: string | undefined;
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  readonly body?: object | undefined;
  /** Whether it may be made again when nobody knows what became of it. Default: yes. */
  readonly repeatable?: boolean;
}

/** What `fetch` is told besides the address. */
export interface Init {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface TransportOptions {
  readonly url: string;
  readonly token: TokenSource;
  readonly fetch: Fetch;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly environment: Environment;
}

export class Transport {
  readonly retries: number;
  readonly timeoutMs: number;
  readonly environment: Environment;
  readonly #options: TransportOptions;
  readonly #url: string;

  constructor(options: TransportOptions) {
    if (!/^https?:\/\/./i.test(options.url)) {
      throw new HttpError("INVALID_ARGUMENT", `url: "https://…" of the server, not ${options.url}`);
    }
    this.#options = options;
    this.#url = options.url.replace(/\/+$/, "");
    this.retries = options.retries;
    this.timeoutMs = options.timeoutMs;
    this.environment = options.environment;
  }

  /** Return what a request is answered with. */
  async send<T>(request: HttpRequest, options: RequestOptions = {}): Promise<T> {
    const { signal, idempotencyKey = this.environment.id() } = options;
    const body = request.body && textOf(request.body);
    const headers = {
      accept: "application/json",
      ...(request.method === "POST" && { "idempotency-key": idempotencyKey }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const init = { method: request.method, headers, ...(body !== undefined && { body }) };
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#once<T>(request.path, init, signal);
      } catch (thrown) {
        const error = unanswered(thrown);
        stopIf(signal);
        const again = request.repeatable !== false && failures < this.retries;
        if (!again || !isPassing(error)) throw error;
        await this.pause((error.retryAfterMs ?? 0) + this.backoff(failures + 1), signal);
      }
    }
  }

  /**
   * Make one attempt; returns when the answer begins. Rejects unless it is a success.
   * The signal ends the answer's body as well.
   */
  async attempt(path: string, init: Init, signal: AbortSignal): Promise<Response> {
    const { token: source, fetch } = this.#options;
    const token = typeof source === "function" ? await source() : source;
    // Not every fetch heeds it.
    stopIf(signal);
    const headers = { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(this.#url + path, { ...init, headers, signal });
    if (!response.ok) throw refusal(response, await response.text());
    return response;
  }

  /**
   * Return what `work` returns. After `ms` without that the line is cut, and it has failed; so it
   * has when the line is cut by anybody else, whether what it waits for heeds that or not.
   */
  async within<T>(ms: number, line: AbortController, work: () => Promise<T>): Promise<T> {
    let stop = () => {};
    const { signal } = line;
    const cut = new Promise<never>((_, reject) => {
      const end = (why: string) => () => {
        reject(new HttpError("UNAVAILABLE", why));
        line.abort();
      };
      const stopTimer = this.environment.after(
        ms,
        end(`the server said nothing for ${ms / 1000} s`),
      );
      const aborted = end("it was aborted");
      signal.addEventListener("abort", aborted);
      stop = () => {
        stopTimer();
        signal.removeEventListener("abort", aborted);
      };
      if (signal.aborted) aborted();
    });
    try {
      return await Promise.race([work(), cut]);
    } finally {
      stop();
    }
  }

  backoff(failures: number): number {
    return backoffMs(failures, this.environment.random());
  }

  /** Wait; rejects with the signal's reason if that comes first. */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    stopIf(signal);
    await new Promise<void>((resolve) => {
      const done = () => {
        stop();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const stop = this.environment.after(ms, done);
      signal?.addEventListener("abort", done);
    });
    stopIf(signal);
  }

  async #once<T>(path: string, init: Init, signal: AbortSignal | undefined): Promise<T> {
    stopIf(signal);
    const line = new AbortController();
    const unlink = link(signal, line);
    try {
      return await this.within(this.timeoutMs, line, async () => {
        const response = await this.attempt(path, init, line.signal);
        return valueIn(await response.text(), response.status) as T;
      });
    } finally {
      unlink();
    }
  }
}

function textOf(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (thrown) {
    throw new HttpError("INVALID_ARGUMENT", asError(thrown).message);
  }
}

function valueIn(text: string, status: number): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new HttpError("INTERNAL", "the answer is no JSON", { status });
  }
}

/** Throw the signal's reason if it has fired. */
export function stopIf(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  // Older runtimes give no reason.
  throw signal.reason ?? Object.assign(new Error("it was aborted"), { name: "AbortError" });
}

/** Abort `inner` when `outer` is; returns the function that unties them. */
export function link(outer: AbortSignal | undefined, inner: AbortController): () => void {
  const abort = () => inner.abort();
  if (outer?.aborted) abort();
  outer?.addEventListener("abort", abort);
  return () => outer?.removeEventListener("abort", abort);
}
