/**
 * The client: one connection, what is watched over it, what is called over it.
 *
 * It connects when somebody watches or calls, and lets the socket go a while after the
 * last one has left; so it can be made anywhere, on a server too, and need not be closed.
 */

import {
  type ActionRef,
  type Arguments,
  agents,
  type FunctionRef,
  type MutationRef,
  type QueryRef,
} from "./api.js";
import { type Caller, caller } from "./caller.js";
import { canonicalId } from "./canonical.js";
import { Connection, type DataFrame } from "./connection.js";
import type { ConnectionState } from "./connection-state.js";
import { type Environment, platform } from "./environment.js";
import { RopewalkError } from "./errors.js";
import { Hold } from "./hold.js";
import { Layers, type Update } from "./layers.js";
import type { CallOptions, ClientOptions, MutateOptions, MutationOptions } from "./options.js";
import type { AgentApprovalsArgs, ApprovalRecord, Message, Welcome } from "./protocol.gen.js";
import { type Prepared, type Request, Requests } from "./requests.js";
import { socketUrl } from "./socket-url.js";
import { derive, type Readable } from "./store.js";
import {
  LOADING,
  type Subscription,
  type SubscriptionState,
  type SubscriptionView,
} from "./subscription.js";
import { Subscriptions } from "./subscriptions.js";

const IDLE_MS = 5_000;

type Values = Readonly<Record<string, unknown>>;

/** What a thread's agents have set as its state. */
export interface AgentStateView<T = unknown> {
  /** Undefined until the first value has come, and while there is none. */
  readonly state: T | undefined;
  readonly error: RopewalkError | undefined;
}

/** What a part of the SDK that is more than queries and calls is made of; see `createChat`. */
export interface Foundation {
  readonly environment: Environment;
  /** Call; with `first` it leaves when that is over. */
  readonly request: (fn: string, args: Values, dedupe: string, first?: Promise<unknown>) => Request;
  /** Take a call back that has never left; false if it may have. */
  readonly withdraw: (request: Request) => boolean;
  readonly watch: (query: string, args: Values) => Readable<SubscriptionState>;
  /** Put an older page before the rows of a list that is watched. */
  readonly prepend: (query: string, args: Values, page: readonly Message[]) => void;
  /** Call `listener` whenever a person has left, and with him what was his. */
  readonly onDeparture: (listener: () => void) => void;
  /** What is watched just now, by its canonical id. */
  readonly watched: ReadonlyMap<string, Pick<Subscription, "known" | "state">>;
}

const SKIPPED = { value: undefined, error: undefined, loading: false };

export function createClient(options: ClientOptions = {}): ChatClient {
  return new ChatClient(options);
}

export class ChatClient {
  /** Where the connection stands. Watching it does not connect. */
  readonly connection: Readable<ConnectionState>;
  /** For what is built on the client, and for nobody else. */
  readonly foundation: Foundation;
  readonly #environment: Environment;
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #subscriptions: Subscriptions;
  readonly #layers: Layers;
  readonly #hold: Hold;
  /** Who we were last, or whom the page was rendered for; undefined while nobody knows. */
  #user: string | null | undefined;
  readonly #departed: (() => void)[] = [];
  /** How to stop each timer. None outlives the client, or a program that closed it would wait. */
  readonly #timers = new Set<() => void>();
  #stopIdling: () => void = () => {};

  constructor(options: ClientOptions) {
    const { WebSocket, snapshot, tabs } = options;
    const environment = platform({
      ...(WebSocket && { open: (url, protocol) => new WebSocket(url, protocol) }),
      ...options.environment,
    });
    this.#environment = {
      ...environment,
      ...(tabs && { open: tabs(environment) }),
      after: (ms, then) => this.#after(environment, ms, then),
    };
    this.#connection = new Connection({
      url: socketUrl(options.url),
      token: options.token ?? null,
      environment: this.#environment,
      onWelcome: (welcome, fresh) => this.#welcome(welcome, fresh),
      onFrame: (frame) => this.#hold.take(frame),
      onStopped: (error) => {
        for (const stop of this.#timers) stop();
        this.#requests.failAll(error);
      },
    });
    const send = this.#connection.send.bind(this.#connection);
    this.#requests = new Requests((text) => this.#connection.sendText(text));
    const needs = () => this.#needs();
    this.#subscriptions = new Subscriptions(this.#environment, send, needs, snapshot);
    this.#user = snapshot?.user;
    this.#layers = new Layers(
      (key) => this.#subscriptions.peek(key)?.state.get().view.value,
      // Nobody waits for it: it is uncaught, as what an event handler throws.
      (thrown) => {
        this.#environment.after(0, () => {
          throw thrown;
        });
      },
    );
    this.#hold = new Hold(
      this.#environment,
      (frame) => this.#receive(frame),
      () => this.#subscriptions.asking,
    );
    this.connection = this.#connection.state;
    this.foundation = this.#founding();
  }

  /** What a query answers, live while it is watched. With `"skip"` nothing is asked. */
  subscription<Args, Result>(
    query: QueryRef<Args, Result>,
    ...[args]: Arguments<Args, "skip">
  ): Readable<SubscriptionView<Result>> {
    if (args === "skip") return derive([], () => SKIPPED);
    const state = this.#watch(query, (args ?? {}) as Values);
    return derive([state], ({ view }) => view as SubscriptionView<Result>);
  }

  /** Call a function, once whatever happens to the connection meanwhile. */
  async call<Args, Result>(
    fn: FunctionRef<Args, Result>,
    args: Args,
    options: CallOptions = {},
  ): Promise<Result> {
    return await this.mutate(fn as MutationRef<Args, Result>, args, options);
  }

  /** Call a mutation, as `call` does, and show what it will change until that is there. */
  async mutate<Args, Result>(
    fn: MutationRef<Args, Result>,
    args: Args,
    { dedupe = this.#environment.id(), optimistic }: MutateOptions = {},
  ): Promise<Result> {
    return (await this.#request(fn, args as Values, dedupe, undefined, optimistic)
      .answer) as Result;
  }

  /** A mutation as a function of the page's own. */
  mutation<Args, Result>(
    fn: MutationRef<Args, Result>,
    options: MutationOptions<Args> = {},
  ): Caller<Args, Result> {
    return caller((args) => {
      const { optimistic } = options;
      return this.mutate(fn, args, {
        optimistic: optimistic && ((local) => optimistic(local, args)),
      });
    });
  }

  /** An action as a function of the page's own. */
  action<Args, Result>(fn: ActionRef<Args, Result>): Caller<Args, Result> {
    return this.mutation(fn as unknown as MutationRef<Args, Result>);
  }

  /** Ask a query once. It may be asked again after a reconnect, which hurts nobody. */
  async query<Args, Result>(fn: QueryRef<Args, Result>, args: Args): Promise<Result> {
    return (await this.#request(fn, args as Values).answer) as Result;
  }

  /** What waits for a person, of one thread (`key`) or of all that are his to see, live. */
  approvals(args: AgentApprovalsArgs = {}): Readable<SubscriptionView<readonly ApprovalRecord[]>> {
    return this.subscription(agents.agentApprovals, args);
  }

  /** The synced state of a thread, live while it is watched. Undefined until there is one. */
  agentState<T>(threadKey: string): Readable<AgentStateView<T>> {
    const view = this.subscription(agents.agentState, { key: threadKey });
    return derive([view], ({ value, error }) => ({ state: (value ?? undefined) as T, error }));
  }

  /** Ask for a token again and go by it, after a sign-in or sign-out. */
  async authenticate(): Promise<void> {
    await this.#connection.authenticate();
  }

  /** End the connection for good. Calls without an answer fail with `CLOSED`. */
  close(): void {
    this.#connection.stop();
  }

  #after(environment: Environment, ms: number, then: () => void): () => void {
    const end = () => {
      this.#timers.delete(end);
      stop();
    };
    const stop = environment.after(ms, () => {
      end();
      then();
    });
    this.#timers.add(end);
    if (this.connection.get().name === "stopped") end();
    return end;
  }

  #founding(): Foundation {
    return {
      environment: this.#environment,
      request: this.#request.bind(this),
      withdraw: (request) => this.#requests.withdraw(request.id),
      watch: (query, args) => this.#watch(query, args),
      prepend: (query, args, page: readonly Message[]) => {
        this.#subscriptions.peek(canonicalId(query, args))?.prepend(page);
        this.#layers.changed();
      },
      onDeparture: (listener) => this.#departed.push(listener),
      watched: this.#subscriptions.all,
    };
  }

  #watch(query: string, args: Values): Readable<SubscriptionState> {
    const key = canonicalId(query, args);
    const server: Readable<SubscriptionState> = {
      get: () => this.#subscriptions.peek(key)?.state.get() ?? LOADING,
      subscribe: (listener) => this.#subscriptions.watch(query, args, listener),
    };
    const expected = derive([this.#layers], (values) => values.get(key));
    return derive([server, expected], (state, value) =>
      value === undefined ? state : { ...state, view: { ...state.view, value } },
    );
  }

  #request(
    fn: string,
    args: Values,
    dedupe?: string,
    first?: Promise<unknown>,
    optimistic?: Update,
  ): Request {
    if (this.connection.get().name === "stopped") {
      return refused(new RopewalkError("CLOSED", "the client was closed"));
    }
    let prepared: Prepared;
    try {
      prepared = this.#requests.prepare(fn, args, dedupe);
    } catch (thrown) {
      return refused(thrown);
    }
    const drop = optimistic && this.#layers.add(optimistic);
    const settled = (id: string) => {
      if (this.#hold.calls.delete(id)) drop?.();
    };
    const request = this.#requests.call(prepared, settled, first);
    if (drop) this.#hold.calls.add(request.id);
    this.#needs();
    return request;
  }

  #welcome({ identity }: Welcome, fresh: boolean): void {
    if (fresh) this.#hold.drop();
    else this.#hold.release();
    const before = this.#user;
    this.#user = identity?.userId ?? null;
    const somebodyElse = before !== undefined && before !== this.#user;
    if (somebodyElse) {
      // What one person asked is never done in the name of another. Signing in is no change of person.
      if (before !== null) {
        this.#requests.failAll(new RopewalkError("UNAUTHENTICATED", "somebody else is signed in"));
        for (const forget of this.#departed) forget();
      }
      this.#subscriptions.restart();
    } else if (fresh) {
      this.#subscriptions.resume();
    } else {
      this.#subscriptions.retryRefused();
    }
    if (fresh) this.#requests.resend();
  }

  #receive(frame: DataFrame): void {
    switch (frame.type) {
      case "result":
      case "error":
        if (this.#requests.settle(frame)) this.#needs();
        else if (frame.type === "error") this.#subscriptions.receive(frame);
        break;
      case "snapshot":
      case "delta":
      case "token":
        this.#subscriptions.receive(frame);
        break;
      default:
        frame satisfies never;
    }
    this.#layers.changed();
  }

  /** Be connected while somebody watches or waits, and a while longer. */
  #needs(): void {
    this.#stopIdling();
    if (this.#subscriptions.size + this.#requests.size > 0) {
      this.#connection.want();
    } else {
      this.#stopIdling = this.#environment.after(IDLE_MS, () => this.#connection.release());
    }
  }
}

/** A call that is not made. */
function refused(thrown: unknown): Request {
  return { id: "", answer: Promise.reject(thrown) };
}
