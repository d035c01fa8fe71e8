/** Agents and their sessions: prompting, reading, signalling, following. */

import type { OutputOf } from "../core/agent-types.js";
import type { ApprovalRecord, BranchList } from "../core/protocol.gen.js";
import { at, query } from "./address.js";
import type {
  Accepted,
  AgentCard,
  AgentList,
  ApprovalList,
  Cancelled,
  Fork,
  Forked,
  OfRun,
  Prompt,
  Regenerate,
  Retried,
  SendSignal,
  SessionList,
  Session as SessionView,
  Signalled,
} from "./http.gen.js";
import { readFrames } from "./reading.js";
import { type StreamEvent, Telling } from "./telling.js";
import type { RequestOptions, Transport } from "./transport.js";

/** A session; `output` is the newest run's answer, where a form was asked for and it has ended. */
export interface Session<Output = unknown> extends Omit<SessionView, "output"> {
  readonly output: Output | null;
}

export interface PageOptions extends RequestOptions {
  /** How many at most. */
  readonly limit?: number | undefined;
}

export interface StreamOptions {
  /** End when this run is over, and tell what is written of no other. */
  readonly runId?: string | undefined;
  /** Go on from here: the `cursor` of an event. */
  readonly cursor?: string | undefined;
  /** Ends the stream, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export class AgentsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The agents that the caller may know of. */
  async list(options?: RequestOptions): Promise<readonly AgentCard[]> {
    return (await this.#get<AgentList>(at`/agents`, options)).agents;
  }

  async get(agent: string, options?: RequestOptions): Promise<AgentCard> {
    return await this.#get(at`/agents/${agent}`, options);
  }

  /** Start a run, in a new session or (`sessionId`) the next one of an old session. */
  async prompt(agent: string, prompt: Prompt, options?: RequestOptions): Promise<Accepted> {
    return await this.#post(at`/agents/${agent}`, prompt, options);
  }

  /** The caller's sessions, newest activity first; `before` is the `next` of the page before. */
  async listSessions(
    agent: string,
    { limit, before, ...options }: PageOptions & { readonly before?: string | undefined } = {},
  ): Promise<SessionList> {
    return await this.#get(at`/agents/${agent}/sessions${query({ limit, before })}`, options);
  }

  /**
   * A session with its newest messages, or those below the seq `before`. Its output is typed by the
   * agent (`agents.triage`), or as you say: `getSession<Verdict>("triage", id)`.
   */
  async getSession<Output = never, Agent extends string = string>(
    agent: Agent,
    sessionId: string,
    { limit, before, ...options }: PageOptions & { readonly before?: number | undefined } = {},
  ): Promise<Session<[Output] extends [never] ? OutputOf<Agent> : Output>> {
    return await this.#get(session(agent, sessionId) + query({ limit, before }), options);
  }

  /** Put a message into a session; an idle one wakes and answers (`woke`). */
  async sendSignal(
    agent: string,
    sessionId: string,
    signal: SendSignal,
    options?: RequestOptions,
  ): Promise<Signalled> {
    return await this.#post(`${session(agent, sessionId)}/signals`, signal, options);
  }

  /** End a run as cancelled. Name it: without a name it is whichever runs when this arrives. */
  async cancel(
    agent: string,
    sessionId: string,
    { runId, ...options }: OfRun & RequestOptions = {},
  ): Promise<Cancelled> {
    return await this.#transport.send(
      {
        method: "POST",
        path: `${session(agent, sessionId)}/cancel`,
        body: { runId },
        // Without a name it may be another run's turn by then.
        repeatable: runId !== undefined,
      },
      options,
    );
  }

  /** Let the newest run, which failed, go on from its last finished step. */
  async retry(
    agent: string,
    sessionId: string,
    { runId, ...options }: OfRun & RequestOptions = {},
  ): Promise<Retried> {
    return await this.#post(`${session(agent, sessionId)}/retry`, { runId }, options);
  }

  /** Answer again, in a branch, which is a session of its own. */
  async regenerate(
    agent: string,
    sessionId: string,
    { messageId, model, ...options }: Regenerate & RequestOptions = {},
  ): Promise<Accepted> {
    const path = `${session(agent, sessionId)}/regenerate`;
    return await this.#post(path, { messageId, model }, options);
  }

  /** Ask something else in the place of a message that began a run, in a branch. */
  async editMessage(
    agent: string,
    sessionId: string,
    messageId: string,
    message: string,
    options?: RequestOptions,
  ): Promise<Accepted> {
    const path = session(agent, sessionId) + at`/messages/${messageId}/edit`;
    return await this.#post(path, { message }, options);
  }

  /** The sessions of a conversation, and which one is shown. */
  async branches(agent: string, sessionId: string, options?: RequestOptions): Promise<BranchList> {
    return await this.#get(`${session(agent, sessionId)}/branches`, options);
  }

  /** Show another session of the conversation, in every tab. */
  async selectBranch(
    agent: string,
    sessionId: string,
    branch: string,
    options?: RequestOptions,
  ): Promise<void> {
    const path = session(agent, sessionId) + at`/branches/${branch}/select`;
    await this.#post(path, undefined, options);
  }

  /** Begin a session of the caller's own with copies, up to a message or all. */
  async fork(
    agent: string,
    sessionId: string,
    { messageId, edge, title, ...options }: Fork & RequestOptions = {},
  ): Promise<Forked> {
    const path = `${session(agent, sessionId)}/fork`;
    return await this.#post(path, { messageId, edge, title }, options);
  }

  /** What a session waits for, and what it has given to others does; `all`: what was decided, too. */
  async approvals(
    agent: string,
    sessionId: string,
    { limit, status, ...options }: ApprovalsQuery = {},
  ): Promise<readonly ApprovalRecord[]> {
    const path = `${session(agent, sessionId)}/approvals${query({ limit, status })}`;
    return (await this.#get<ApprovalList>(path, options)).approvals;
  }

  /**
   * Follow a session, over as many connections as it takes. Ends with the run `runId`, or when
   * the loop is left; throws what the server refuses with, and `UNAVAILABLE` after about a minute
   * without a connection.
   */
  async *stream(
    agent: string,
    sessionId: string,
    { runId, cursor, signal }: StreamOptions = {},
  ): AsyncGenerator<StreamEvent, void> {
    const path = `${session(agent, sessionId)}/stream`;
    const telling = new Telling(runId, cursor);
    for await (const frame of readFrames(this.#transport, path, telling, signal)) {
      yield* telling.tell(frame);
      if (telling.isOver) return;
    }
  }

  async #get<T>(path: string, options?: RequestOptions): Promise<T> {
    return await this.#transport.send({ method: "GET", path }, options);
  }

  async #post<T>(path: string, body: object | undefined, options?: RequestOptions): Promise<T> {
    return await this.#transport.send({ method: "POST", path, body }, options);
  }
}

export interface ApprovalsQuery extends PageOptions {
  /** Default: `pending`. */
  readonly status?: "pending" | "all" | undefined;
}

function session(agent: string, sessionId: string): string {
  return at`/agents/${agent}/sessions/${sessionId}`;
}
