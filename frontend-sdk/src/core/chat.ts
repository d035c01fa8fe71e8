/**
 * One conversation as an application uses it: what it shows, and what can be done to it.
 *
 * Making one costs nothing and asks for nothing; watching `state` or `agent` subscribes.
 * Any number of them may stand for one thread: they share subscriptions and sends.
 *
 * Laws: what is shown is one branch, the selected one, and what is done is done to it; when
 * another is selected, this one stays until that one is there.  `cancel` names the run that
 * was seen, so it never hits a later one; a send that is still on its way is cancelled as
 * soon as its run is known, and goes where it was written, whatever is selected meanwhile.
 */

import { agents, type FunctionRef } from "./api.js";
import type { Decidable } from "./approvals.js";
import type { Branch, Redo } from "./branch.js";
import { type Choice, isHeard } from "./branches.js";
import { type ChatContext, contextOf, type Flight } from "./chat-context.js";
import type { AgentState, ChatState } from "./chat-state.js";
import type { ChatClient } from "./client.js";
import { asError } from "./errors.js";
import {
  addSend,
  changeSend,
  dropSend,
  isBusy,
  review,
  type Send,
  unsettled,
} from "./optimistic.js";
import {
  type AgentBranchResult,
  type AgentForkArgs,
  type ApprovalDecision,
  type BranchList,
  PAGE_LIMIT,
} from "./protocol.gen.js";
import type { Request } from "./requests.js";
import type { ThreadSends } from "./sends.js";
import { shown } from "./shown.js";
import { Cell, type Readable } from "./store.js";

/** After its answer a send's run shows within a feed's worst lag, or something else is wrong. */
const SHOW_TIMEOUT_MS = 5_000;

type Values = Readonly<Record<string, unknown>>;

export interface SendCalls {
  readonly run: FunctionRef;
  readonly runArgs?: Values | undefined;
}

export type ForkOptions = Pick<AgentForkArgs, "edge" | "title">;

/** A thread, with (`stream`) or without the text that is being written. */
export function createChat(
  client: ChatClient,
  threadKey: string,
  { stream = true }: { readonly stream?: boolean | undefined } = {},
): Chat {
  return new Chat(contextOf(client), threadKey, stream);
}

export class Chat {
  readonly threadKey: string;
  /** Everything that a chat shows. */
  readonly state: Readable<ChatState>;
  /** The thread without its messages. */
  readonly agent: Readable<AgentState>;
  readonly #context: ChatContext;
  readonly #stream: boolean;
  readonly #branch: Readable<Branch>;
  /** The branches as the server has told of them. */
  readonly #heard: Readable<BranchList | undefined>;
  /** Sends whose row has to show soon. */
  readonly #lost = new Set<string>();
  readonly #loadingOlder = new Cell(false);

  constructor(context: ChatContext, threadKey: string, stream: boolean) {
    this.threadKey = threadKey;
    this.#context = context;
    this.#stream = stream;
    const known = shown(context, threadKey, (key) => this.#messagesOf(key), this.#loadingOlder);
    this.#heard = known.heard;
    this.#branch = known.branch;
    this.agent = this.#reviewing(known.agent);
    this.state = this.#reviewing(known.state);
  }

  /**
   * Show `input` at once and call `run` with `{input, threadKey}` over the other arguments.
   * Rejects, and takes the message back, if the call fails.
   */
  async send({ run, runArgs }: SendCalls, input: string, args?: Values): Promise<unknown> {
    const { key: here, sends: own } = this.#branch.get();
    const begun = this.#flying(here).find(({ branches }) => branches);
    // Who writes while a branch is begun writes to that.
    const key = begun ? await branchIn(begun) : (own.sends[0]?.branch ?? here);
    const values = { ...runArgs, ...args, input, ...keyFor(run, key) };
    const { dedupe, value } = await this.#fly(run, values, key, input);
    this.#answered(key, dedupe, value);
    return value;
  }

  /**
   * Answer again what the message (by default the newest) answers: in a new branch that all
   * tabs show; the old one is kept. Returns its key. Rejects, and shows the old one, if it fails.
   */
  async regenerate(messageId?: string): Promise<string> {
    const { rows = [] } = this.#branch.get();
    const { id, runId } =
      (messageId === undefined ? rows.at(-1) : rows.find((row) => row.id === messageId)) ?? {};
    const begin = rows.find((row) => row.runId === runId && row.role === "user");
    const args = { messageId: messageId ?? id };
    return await this.#begin(agents.agentRegenerate, args, begin?.text, begin?.seq);
  }

  /** Send a message of the user's with another text, as `regenerate` does. */
  async editMessage(messageId: string, input: string): Promise<string> {
    const begin = this.#branch.get().rows?.find(({ id }) => id === messageId);
    return await this.#begin(agents.agentEditMessage, { messageId, input }, input, begin?.seq);
  }

  /** Show another branch, in all tabs; here before they know. Rejects, and is back, if it fails. */
  async selectBranch(branch: string): Promise<void> {
    const { sends, after, id } = this.#context;
    const key = this.threadKey;
    // After what was selected before: the last one stands.
    const told = this.#request(agents.agentSelectBranch, { key, branch }, id(), key).answer;
    const choice: Choice = { branch, answered: told };
    const change = (to?: Choice) =>
      sends.change(key, (before) =>
        before.choice?.branch === branch ? { ...before, choice: to } : before,
      );
    this.#note(key, { choice });
    try {
      await told;
      change({ branch, seen: this.#heard.get()?.selected ?? "" });
      after(SHOW_TIMEOUT_MS, change);
    } catch (thrown) {
      change();
      this.#note(this.#branch.get().key, { failure: asError(thrown) });
      throw thrown;
    }
  }

  /** Copy what is shown, up to a message, into a conversation of its own; returns its key. */
  async fork(messageId?: string, options: ForkOptions = {}): Promise<string> {
    const args = { key: this.#branch.get().key, ...(messageId && { messageId }), ...options };
    return (await this.#context.client.call(agents.agentFork, args)).key;
  }

  /** Stop the run that is seen, or the send that is on its way. Does nothing if there is none. */
  async cancel(cancel: FunctionRef | undefined): Promise<void> {
    if (cancel === undefined) return;
    const { key, rows, thread, sends } = this.#branch.get();
    const flying = this.#flying(key);
    if (flying.length > 0) {
      const left = flying.filter(({ request }) => !this.#context.withdraw(request));
      await Promise.all(left.map((flight) => this.#cancelAnswered(cancel, flight)));
      return;
    }
    const waiting = unsettled(sends.sends, rows ?? [], thread).at(-1);
    const run = waiting?.runId ?? (thread && isBusy(thread.status) ? thread.runId : undefined);
    if (run) await this.#cancel(cancel, waiting?.branch ?? key, run);
  }

  /** Let the run that failed go on from where it failed. Does nothing if none did. */
  async retry(): Promise<void> {
    const { client, after } = this.#context;
    const { key, thread, sends } = this.#branch.get();
    if (thread?.status !== "failed" || sends.retrying === thread.updatedAt) return;
    const { runId } = thread;
    this.#note(key, { failure: undefined, retrying: thread.updatedAt });
    try {
      const { retried } = await client.call(agents.agentRetry, { key, ...(runId && { runId }) });
      after(retried ? SHOW_TIMEOUT_MS : 0, () => this.#note(key, { retrying: undefined }));
    } catch (thrown) {
      this.#note(key, { failure: asError(thrown), retrying: undefined });
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
    const { key, rows } = this.#branch.get();
    const first = rows?.[0];
    if (first === undefined || first.seq <= 1 || this.#loadingOlder.get()) return;
    this.#loadingOlder.set(true);
    try {
      const page = await client.query(agents.agentMessages, { key, before: first.seq, limit });
      prepend(agents.agentMessages, this.#messagesOf(key), page);
    } finally {
      this.#loadingOlder.set(false);
    }
  }

  /** Forget the failure of the last send. */
  dismissError(): void {
    this.#note(this.#branch.get().key, { failure: undefined });
  }

  #messagesOf(key: string): Values {
    return this.#stream ? { key } : { key, stream: false };
  }

  #flying(key: string): Flight[] {
    return [...this.#context.flights].filter(({ threadKey }) => threadKey === key);
  }

  /**
   * Call what begins a run, and show `input` meanwhile: as the newest message, or as the one at
   * `seq` in a new branch. If it fails, that goes.
   */
  async #fly(
    fn: string,
    args: Values,
    key: string,
    input: string,
    branches = false,
    seq?: number,
  ): Promise<{ readonly dedupe: string; readonly value: unknown }> {
    const { flights, sends, id } = this.#context;
    const dedupe = id();
    const shown = this.#branch.get();
    const after = shown.key === key ? shown.rows && (shown.rows.at(-1)?.seq ?? 0) : undefined;
    const send: Send = {
      dedupe,
      input,
      createdAt: new Date().toISOString(),
      ...(after !== undefined && { after }),
    };
    sends.change(key, (before) => ({
      ...before,
      failure: undefined,
      ...(!branches && { sends: addSend(before.sends, send) }),
      ...(seq !== undefined && { redo: { ...send, seq } }),
    }));
    const flight = { threadKey: key, request: this.#request(fn, args, dedupe, key), branches };
    flights.add(flight);
    try {
      return { dedupe, value: await flight.request.answer };
    } catch (thrown) {
      const error = asError(thrown);
      sends.change(key, (before) => ({
        ...before,
        sends: dropSend(before.sends, dedupe),
        redo: before.redo?.dedupe === dedupe ? undefined : before.redo,
        failure: error.code === "CANCELLED" ? before.failure : error,
      }));
      throw thrown;
    } finally {
      flights.delete(flight);
    }
  }

  /** Call, and before it let the server hear what was selected: the root's key means that. */
  #request(fn: string, args: Values, dedupe: string, key: string): Request {
    const { request, sends } = this.#context;
    const choice = key === this.threadKey ? sends.of(key).get().choice : undefined;
    return request(fn, args, dedupe, choice?.answered);
  }

  /** Begin a branch at `seq` with `input`; its beginning lies over this one until it is there. */
  async #begin(fn: string, args: Values, input = "", seq?: number): Promise<string> {
    const { sends, after } = this.#context;
    const { key } = this.#branch.get();
    const { dedupe, value } = await this.#fly(fn, { key, ...args }, key, input, true, seq);
    const { id: runId, key: branch } = value as AgentBranchResult;
    const note = (change?: Partial<Redo>) =>
      sends.change(key, (before) =>
        before.redo?.dedupe === dedupe
          ? { ...before, redo: change && { ...before.redo, ...change } }
          : before,
      );
    note({ runId, branch });
    after(SHOW_TIMEOUT_MS, note);
    return branch;
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
    const { key, thread } = this.#branch.get();
    const waiting = thread?.pendingApprovals ?? [];
    const found = waiting.filter((one) => one.toolCallId === toolCallId);
    return found.find((one) => one.key === key) ?? found[0] ?? { key, toolCallId };
  }

  /** Cancel what a send starts, as soon as it has a name. A send that fails starts nothing. */
  async #cancelAnswered(cancel: FunctionRef, flight: Flight): Promise<void> {
    const { threadKey, request, branches } = flight;
    const runId = await request.answer.then(runIdOf, () => undefined);
    if (runId === undefined) return;
    await this.#cancel(cancel, branches ? await branchIn(flight) : threadKey, runId);
  }

  async #cancel(cancel: FunctionRef, key: string, runId: string): Promise<void> {
    const fn = cancel as FunctionRef<Values>;
    await this.#context.client.call(fn, { ...keyFor(cancel, key), runId });
  }

  #note(key: string, change: Partial<ThreadSends>): void {
    this.#context.sends.change(key, (before) => ({ ...before, ...change }));
  }

  #answered(key: string, dedupe: string, answer: unknown): void {
    const { sends, after } = this.#context;
    const note = (change: Parameters<typeof changeSend>[2]) => {
      sends.change(key, (before) => ({
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
    const { key, rows, thread } = this.#branch.get();
    this.#context.sends.change(key, (before) => {
      const sends = review(before.sends, rows ?? [], thread);
      return sends === before.sends ? before : { ...before, sends };
    });
    // Heard of later, the same selection is another one.
    this.#context.sends.change(this.threadKey, (before) =>
      isHeard(before.choice, this.#heard.get()) ? { ...before, choice: undefined } : before,
    );
    for (const { dedupe, lost } of this.#branch.get().sends.sends) {
      if (lost && !this.#lost.has(dedupe)) this.#waitForRow(key, dedupe);
    }
  }

  /** A send waits no more: its row is on its way, or it was withdrawn. */
  #waitForRow(key: string, dedupe: string): void {
    const { after, sends } = this.#context;
    this.#lost.add(dedupe);
    after(SHOW_TIMEOUT_MS, () => {
      this.#lost.delete(dedupe);
      sends.change(key, (before) => {
        const kept = before.sends.filter((send) => send.dedupe !== dedupe || !send.lost);
        return kept.length === before.sends.length ? before : { ...before, sends: kept };
      });
    });
  }
}

/** The thread's key as the function calls it: built-ins say `key`. */
function keyFor(fn: string, key: string): Values {
  return fn.startsWith("agents:") ? { key } : { threadKey: key };
}

async function branchIn({ request }: Flight): Promise<string> {
  return ((await request.answer) as AgentBranchResult).key;
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
