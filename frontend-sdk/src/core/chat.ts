/**
 * One thread as an application uses it: what it shows, and what can be done to it.
 *
 * Making one costs nothing and asks for nothing; watching `state` or `agent` subscribes.
 * Any number of them may stand for one thread: they share subscriptions and sends.
 *
 * Laws: `cancel` names the run that was seen, so it never hits a later one; a send that is
 * still on its way is cancelled as soon as its run is known.
 */

import { agents, type FunctionRef } from "./api.js";
import type { Decidable } from "./approvals.js";
import {
  type AgentState,
  agentState,
  type ChatState,
  chatState,
  messagesOf,
  speaking,
} from "./chat-state.js";
import type { ChatClient } from "./client.js";
import { asError, type RopewalkError } from "./errors.js";
import type { ChatMessage } from "./optimistic.js";
import {
  addSend,
  changeSend,
  dropSend,
  isBusy,
  review,
  unsettled,
  waitingOf,
} from "./optimistic.js";
import {
  type ApprovalDecision,
  type Message,
  PAGE_LIMIT,
  type ThreadView,
} from "./protocol.gen.js";
import type { Request } from "./requests.js";
import type { Sends, ThreadSends } from "./sends.js";
import { Cell, derive, type Readable } from "./store.js";
import type { SubscriptionState, SubscriptionView } from "./subscription.js";

/** After its answer a send's run shows within a feed's worst lag, or something else is wrong. */
const SHOW_TIMEOUT_MS = 5_000;

type Values = Readonly<Record<string, unknown>>;

export interface SendCalls {
  readonly run: FunctionRef;
  readonly runArgs?: Values | undefined;
}

/** A send on its way. */
export interface Flight {
  readonly threadKey: string;
  readonly request: Request;
}

export interface ChatContext {
  readonly client: ChatClient;
  readonly sends: Sends;
  readonly flights: Set<Flight>;
  readonly id: () => string;
  readonly after: (ms: number, then: () => void) => () => void;
  readonly request: (fn: string, args: Values, dedupe: string) => Request;
  readonly withdraw: (request: Request) => boolean;
  readonly watch: (query: string, args: Values) => Readable<SubscriptionState>;
  readonly prepend: (query: string, args: Values, page: readonly Message[]) => void;
}

export class Chat {
  readonly threadKey: string;
  /** Everything that a chat shows. */
  readonly state: Readable<ChatState>;
  /** The thread without its messages. */
  readonly agent: Readable<AgentState>;
  readonly #context: ChatContext;
  readonly #sends: Readable<ThreadSends>;
  readonly #messagesArgs: Values;
  /** Sends whose row has to show soon. */
  readonly #lost = new Set<string>();
  readonly #loadingOlder = new Cell(false);
  readonly #rows: () => readonly Message[] | undefined;
  readonly #thread: () => ThreadView | null | undefined;

  constructor(context: ChatContext, threadKey: string, stream: boolean) {
    this.threadKey = threadKey;
    this.#context = context;
    this.#sends = context.sends.of(threadKey);
    this.#messagesArgs = stream ? { key: threadKey } : { key: threadKey, stream: false };
    const messages = context.watch(agents.agentMessages, this.#messagesArgs);
    const thread = context.watch(agents.agentThread, { key: threadKey });
    const threadView = derive([thread], ({ view }) => view as SubscriptionView<ThreadView | null>);
    const rowsView = derive([messages], ({ view }) => view as SubscriptionView<readonly Message[]>);
    this.#rows = () => rowsView.get().value;
    this.#thread = () => threadView.get().value;
    this.agent = this.#reviewing(
      derive([threadView, this.#sends], (view, sends) =>
        agentState(view.value, undefined, sends, view.error),
      ),
    );
    const waiting = derive([threadView], ({ value }) => waitingOf(value));
    const shown = derive(
      [rowsView, this.#sends, waiting],
      (rows, { sends }, unread): readonly ChatMessage[] => messagesOf(rows.value, sends, unread),
    );
    // The messages are asked for before the thread: what has left the queue is a row by then.
    const whole = derive([rowsView, threadView, this.#sends], (rows, view, sends) =>
      agentState(view.value, rows.value, sends, view.error ?? rows.error),
    );
    const live = derive([messages, threadView], ({ view, live }, { value }) =>
      speaking(live, view.value as readonly Message[] | undefined, value),
    );
    const loading = derive([rowsView], (rows) => rows.loading);
    this.state = this.#reviewing(
      derive([whole, loading, shown, live, this.#loadingOlder], chatState),
    );
  }

  /**
   * Show `input` at once and call `run` with `{input, threadKey}` over the other arguments.
   * Rejects, and takes the message back, if the call fails.
   */
  async send({ run, runArgs }: SendCalls, input: string, args?: Values): Promise<unknown> {
    const { sends, flights, id, request } = this.#context;
    const dedupe = id();
    const createdAt = new Date().toISOString();
    sends.change(this.threadKey, (before) => ({
      sends: addSend(before.sends, { dedupe, input, createdAt }),
      failure: undefined,
    }));
    const flight: Flight = {
      threadKey: this.threadKey,
      request: request(run, { ...runArgs, ...args, input, ...this.#keyFor(run) }, dedupe),
    };
    flights.add(flight);
    try {
      const value = await flight.request.answer;
      this.#answered(dedupe, value);
      return value;
    } catch (thrown) {
      this.#failed(dedupe, asError(thrown));
      throw thrown;
    } finally {
      flights.delete(flight);
    }
  }

  /** Stop the run that is seen, or the send that is on its way. Does nothing if there is none. */
  async cancel(cancel: FunctionRef | undefined): Promise<void> {
    if (cancel === undefined) return;
    const { flights, withdraw } = this.#context;
    const flying = [...flights].filter((one) => one.threadKey === this.threadKey);
    if (flying.length > 0) {
      const left = flying.filter(({ request }) => !withdraw(request));
      await Promise.all(left.map(({ request }) => this.#cancelAnswered(cancel, request)));
      return;
    }
    const thread = this.#thread();
    const waiting = unsettled(this.#sends.get().sends, this.#rows() ?? [], thread).at(-1);
    const run = waiting?.runId ?? (thread && isBusy(thread.status) ? thread.runId : undefined);
    if (run) await this.#cancel(cancel, run);
  }

  /** Let the run that failed go on from where it failed. Does nothing if none did. */
  async retry(): Promise<void> {
    const { client, after } = this.#context;
    const thread = this.#thread();
    if (thread?.status !== "failed" || this.#sends.get().retrying === thread.updatedAt) return;
    const { runId } = thread;
    this.#note({ failure: undefined, retrying: thread.updatedAt });
    try {
      const args = { key: this.threadKey, ...(runId && { runId }) };
      const { retried } = await client.call(agents.agentRetry, args);
      after(retried ? SHOW_TIMEOUT_MS : 0, () => this.#note({ retrying: undefined }));
    } catch (thrown) {
      this.#note({ failure: asError(thrown), retrying: undefined });
      throw thrown;
    }
  }

  /** Let a tool call that waits go on: by its id, or by the approval. */
  async approve(call: string | Decidable, reason?: string): Promise<void> {
    await this.#decide("approved", call, reason);
  }

  /** Refuse a tool call that waits; the model is told the reason. */
  async reject(call: string | Decidable, reason?: string): Promise<void> {
    await this.#decide("denied", call, reason);
  }

  /** Let it go on with other arguments. */
  async edit(call: string | Decidable, input: Values, reason?: string): Promise<void> {
    await this.#decide("approved", call, reason, input);
  }

  /** Load the page before the first message. Does nothing at the beginning of the thread. */
  async loadOlder(limit = PAGE_LIMIT): Promise<void> {
    const { client, prepend } = this.#context;
    const first = this.#rows()?.[0];
    if (first === undefined || first.seq <= 1 || this.#loadingOlder.get()) return;
    this.#loadingOlder.set(true);
    try {
      const args = { key: this.threadKey, before: first.seq, limit };
      const page = await client.query(agents.agentMessages, args);
      prepend(agents.agentMessages, this.#messagesArgs, page);
    } finally {
      this.#loadingOlder.set(false);
    }
  }

  /** Forget the failure of the last send. */
  dismissError(): void {
    this.#note({ failure: undefined });
  }

  async #decide(
    decision: ApprovalDecision,
    call: string | Decidable,
    reason?: string,
    editedInput?: Values,
  ): Promise<void> {
    const { key, toolCallId, inputHash } = typeof call === "string" ? this.#asked(call) : call;
    const args = {
      key,
      toolCallId,
      decision,
      ...(inputHash && { inputHash }),
      ...(reason && { reason }),
      ...(editedInput && { editedInput }),
    };
    await this.#context.client.call(agents.agentResolveApproval, args);
  }

  /** Return what a call waits for, in the conversation that asks: this one, or that of a child. */
  #asked(toolCallId: string): Omit<Decidable, "id" | "inputHash"> & Partial<Decidable> {
    const key = this.threadKey;
    const waiting = this.#thread()?.pendingApprovals ?? [];
    const found = waiting.filter((one) => one.toolCallId === toolCallId);
    return found.find((one) => one.key === key) ?? found[0] ?? { key, toolCallId };
  }

  /** Cancel what a send starts, as soon as it has a name. A send that fails starts nothing. */
  async #cancelAnswered(cancel: FunctionRef, request: Request): Promise<void> {
    const runId = await request.answer.then(runIdOf, () => undefined);
    if (runId !== undefined) await this.#cancel(cancel, runId);
  }

  async #cancel(cancel: FunctionRef, runId: string): Promise<void> {
    const fn = cancel as FunctionRef<Values>;
    await this.#context.client.call(fn, { ...this.#keyFor(cancel), runId });
  }

  /** The thread's key as the function calls it: built-ins say `key`. */
  #keyFor(fn: string): Values {
    return fn.startsWith("agents:") ? { key: this.threadKey } : { threadKey: this.threadKey };
  }

  #note(change: Partial<ThreadSends>): void {
    this.#context.sends.change(this.threadKey, (before) => ({ ...before, ...change }));
  }

  #answered(dedupe: string, answer: unknown): void {
    const { sends, after } = this.#context;
    const note = (change: Parameters<typeof changeSend>[2]) => {
      sends.change(this.threadKey, (before) => ({
        ...before,
        sends: changeSend(before.sends, dedupe, change),
      }));
      this.#review();
    };
    const runId = runIdOf(answer);
    if (runId === undefined) {
      note({ seen: true });
    } else if (hasToWait(answer)) {
      note({ runId, seen: true });
    } else {
      note({ runId });
      after(SHOW_TIMEOUT_MS, () => note({ seen: true }));
    }
  }

  #failed(dedupe: string, error: RopewalkError): void {
    this.#context.sends.change(this.threadKey, (before) => ({
      sends: dropSend(before.sends, dedupe),
      failure: error.code === "CANCELLED" ? before.failure : error,
    }));
  }

  /** Return `state`, such that whoever watches it also takes note of sends that have landed. */
  #reviewing<T>(state: Readable<T>): Readable<T> {
    return {
      get: state.get,
      subscribe: (listener) =>
        state.subscribe(() => {
          listener();
          this.#review();
        }),
    };
  }

  #review(): void {
    this.#context.sends.change(this.threadKey, (before) => {
      const sends = review(before.sends, this.#rows() ?? [], this.#thread());
      return sends === before.sends ? before : { ...before, sends };
    });
    for (const { dedupe, lost } of this.#sends.get().sends) {
      if (lost && !this.#lost.has(dedupe)) this.#waitForRow(dedupe);
    }
  }

  /** A send waits no more: its row is on its way, or it was withdrawn. */
  #waitForRow(dedupe: string): void {
    const { after, sends } = this.#context;
    this.#lost.add(dedupe);
    after(SHOW_TIMEOUT_MS, () => {
      this.#lost.delete(dedupe);
      sends.change(this.threadKey, (before) => {
        const kept = before.sends.filter((send) => send.dedupe !== dedupe || !send.lost);
        return kept.length === before.sends.length ? before : { ...before, sends: kept };
      });
    });
  }
}

function runIdOf(value: unknown): string | undefined {
  const id = (value as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" ? id : undefined;
}

/** Whether an answer says that the input was taken by a busy thread. */
function hasToWait(value: unknown): boolean {
  const { steered, position } = value as { steered?: unknown; position?: unknown };
  return steered === true || typeof position === "number";
}
