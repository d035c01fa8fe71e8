/**
 * A conversation with branches on a test gateway: it begins them, keeps them all, and shows
 * the selected one, as the server does. A message's id begins with the key of its branch.
 */

import type { Message, ThreadStatus, ThreadView, WaitingSend } from "../../src/core/index.js";
import { isBusy } from "../../src/core/index.js";
import { aMessage, aThread } from "./builders.js";
import { Refusal, type TestGateway } from "./gateway.js";

interface Branch {
  readonly key: string;
  readonly parent: string | null;
  readonly shared: number;
  readonly rows: Message[];
  /** What was sent while it was busy. */
  readonly waiting: WaitingSend[];
  runId: string;
  status: ThreadStatus;
}

const AT = "2026-11-30T03:30:00Z";

export class Conversation {
  readonly root: string;
  readonly branches: Branch[] = [];
  selected: string;
  /** What is done before a new branch is told of, and before its call is answered. */
  beforeTold: () => Promise<void> = async () => {};
  beforeAnswer: () => Promise<void> = async () => {};
  /** The answer comes before the conversation tells of its new branch. */
  answersFirst = false;
  refuses = false;
  /** What is sent to a busy branch waits for its turn. */
  queues = false;
  /** What comes after an answer comes so much later. */
  later = async (then: () => void): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    then();
  };
  readonly told: Promise<void>[] = [];
  readonly #gateway: TestGateway;
  #runs = 0;

  constructor(gateway: TestGateway, root: string) {
    this.root = root;
    this.selected = root;
    this.#gateway = gateway;
    this.branches.push({
      key: root,
      parent: null,
      shared: 0,
      rows: [],
      waiting: [],
      runId: "",
      status: "completed",
    });
    const { handlers } = gateway;
    handlers.set("agents:agentRegenerate", (args, { dedupe }) => {
      const from = this.#of(args["key"]);
      const runId = from.rows.find(({ id }) => id === args["messageId"])?.runId;
      const begin = from.rows.find((row) => row.runId === runId && row.role === "user");
      return this.#begin(from, begin, begin?.text ?? "", dedupe);
    });
    handlers.set("agents:agentEditMessage", (args, { dedupe }) => {
      const from = this.#of(args["key"]);
      const begin = from.rows.find(({ id }) => id === args["messageId"]);
      return this.#begin(from, begin, args["input"] as string, dedupe);
    });
    handlers.set("agents:agentSelectBranch", async ({ branch }) => {
      await this.beforeTold();
      if (this.refuses) throw new Refusal("NOT_FOUND", "no such branch");
      const { key } = this.#of(branch);
      if (this.answersFirst) {
        this.told.push(this.later(() => this.select(key)));
        return null;
      }
      this.select(key);
      await this.beforeAnswer();
      return null;
    });
    handlers.set("chat:startRun", ({ threadKey, input }, { dedupe }) => {
      const { key, status } = this.#of(threadKey);
      if (this.refuses) throw new Refusal("CONFLICT", "the thread is busy");
      return this.queues && isBusy(status)
        ? this.#wait(key, input as string, dedupe)
        : { id: this.ask(key, input as string, dedupe) };
    });
  }

  /** Begin a run on a branch. */
  ask(key: string, text: string, dedupe?: string): string {
    const branch = this.#of(key);
    this.#runs += 1;
    branch.runId = `r-${this.#runs}`;
    branch.status = "queued";
    this.#add(branch, { role: "user", text, ...(dedupe && { dedupe }) });
    return branch.runId;
  }

  /** Say that the run of a branch works, or waits for a person. */
  work(key: string, status: ThreadStatus = "running", over: Partial<ThreadView> = {}): void {
    const branch = this.#of(key);
    branch.status = status;
    this.#gateway.commit(key, [], this.view(key, over));
  }

  /** Speak a piece of the answer of a branch's run. */
  speak(key: string, text: string, offset = 0): void {
    const said = {
      run: this.#of(key).runId,
      turn: 0,
      part: 0,
      kind: "text",
      attempt: 100,
    } as const;
    this.#gateway.token(key, { ...said, offset, text });
  }

  /** Store a message of the branch's run, or a change of one. */
  put(key: string, over: Partial<Message>): Message {
    return this.#add(this.#of(key), over);
  }

  /** End the run of a branch with an answer. */
  answer(key: string, text: string, over: Partial<Message> = {}): void {
    const branch = this.#of(key);
    branch.status = "completed";
    this.#add(branch, { text, ...over });
  }

  /** Begin the run that waits longest. */
  next(key: string): void {
    const branch = this.#of(key);
    const first = branch.waiting.shift();
    if (first === undefined) return;
    branch.runId = first.id;
    branch.status = "queued";
    const { text, dedupe } = first;
    this.#add(branch, { role: "user", text, ...(dedupe && { dedupe }) });
  }

  select(key: string): void {
    this.selected = key;
    this.#tellRoot();
  }

  /** Make a branch without selecting it, and answer with its key. */
  branch(from: string, shared: number, text: string, dedupe?: string): string {
    const { rows } = this.#of(from);
    const key = `${this.root}~${this.branches.length}`;
    this.#runs += 1;
    const runId = `r-${this.#runs}`;
    const copies = rows.slice(0, shared).map((row) => ({ ...row, id: `${key}:${row.seq}` }));
    const parent = this.#above(from, shared);
    const made: Branch = {
      key,
      parent,
      shared,
      rows: copies,
      waiting: [],
      runId,
      status: "queued",
    };
    this.branches.push(made);
    this.#gateway.commit(key, copies, this.view(key));
    this.#add(made, { role: "user", text, ...(dedupe && { dedupe }) });
    return key;
  }

  view(key: string, over: Partial<ThreadView> = {}): ThreadView {
    const { runId, status, waiting } = this.#of(key);
    const list = this.branches.map(({ key: name, parent, shared }) => ({
      key: name,
      parent,
      shared,
      createdAt: AT,
    }));
    return aThread({
      key,
      runId,
      status,
      waiting: waiting.map((one, index) => ({ ...one, position: index + 1 })),
      ...(key !== this.root && { conversation: this.root }),
      ...(key === this.root && list.length > 1 && { branches: { selected: this.selected, list } }),
      ...over,
    });
  }

  rows(key: string): readonly Message[] {
    return this.#of(key).rows;
  }

  async #begin(from: Branch, begin: Message | undefined, text: string, dedupe?: string) {
    await this.beforeTold();
    if (this.refuses || !begin) throw new Refusal("INVALID_ARGUMENT", "no run begins there");
    const key = this.branch(from.key, begin.seq - 1, text, dedupe);
    const answer = { id: this.#of(key).runId, key };
    if (this.answersFirst) {
      this.told.push(this.later(() => this.select(key)));
      return answer;
    }
    this.select(key);
    await this.beforeAnswer();
    return answer;
  }

  #above(key: string, shared: number): string {
    const branch = this.#of(key);
    return branch.parent !== null && shared <= branch.shared
      ? this.#above(branch.parent, shared)
      : key;
  }

  #wait(key: string, text: string, dedupe?: string) {
    const { waiting } = this.#of(key);
    this.#runs += 1;
    const id = `r-${this.#runs}`;
    const position = waiting.length + 1;
    const one = {
      id,
      kind: "run",
      text,
      position,
      createdAt: AT,
      ...(dedupe && { dedupe }),
    } as const;
    waiting.push(one);
    this.#gateway.commit(key, [], this.view(key));
    return { id, position };
  }

  #add(branch: Branch, over: Partial<Message>): Message {
    const seq = over.seq ?? branch.rows.length + 1;
    const { key, runId } = branch;
    const row = aMessage({ id: `${key}:${seq}`, runId, ...over, seq });
    branch.rows[seq - 1] = row;
    this.#gateway.commit(key, [row], this.view(key));
    return row;
  }

  #tellRoot(): void {
    this.#gateway.commit(this.root, [], this.view(this.root));
  }

  #of(key: unknown): Branch {
    const found = this.branches.find((one) => one.key === key);
    if (found === undefined) throw new Refusal("NOT_FOUND", "no such branch");
    return found;
  }
}
