/**
 * One conversation, two tabs, and chance: what the server does, what people do, and what becomes
 * of the frames between, one move at a time.
 */

import {
  type Chat,
  type ChatClient,
  type ChatState,
  createChat,
  createClient,
  isBusy,
  type Token,
} from "../../src/core/index.js";
import { anApproval } from "./builders.js";
import { Conversation } from "./conversation.js";
import { TestGateway } from "./gateway.js";
import { CALLS } from "./setup.js";
import { VirtualLine, VirtualTime } from "./virtual.js";

const KEY = "t-1";

/** Let all that was promised happen. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A message that somebody has sent, and to which branch. */
interface Sent {
  readonly text: string;
  readonly key: string;
}

export interface Tab {
  readonly client: ChatClient;
  readonly chat: Chat;
  readonly line: VirtualLine;
  /** What was sent here, without what may have been refused or taken back. */
  readonly sent: Set<Sent>;
  /** Another answer was asked for here: for a while that lies over all that comes after it. */
  redone: boolean;
}

/** What the run of a branch has said and not stored. */
interface Speech {
  step: number;
  attempt: number;
  said: string;
  /** The place of the row of the tool that it waits for. */
  asking?: number | undefined;
}

export class ChatStorm {
  readonly time = new VirtualTime();
  readonly gateway = TestGateway.inMemory();
  readonly talk = new Conversation(this.gateway, KEY);
  readonly tabs: readonly Tab[];
  readonly #roll: (sides: number) => number;
  /** Whether lines lose, double and reorder single frames. Those of TCP delay and break only. */
  readonly #wild: boolean;
  readonly #speeches = new Map<string, Speech>();
  readonly #later: (() => void)[] = [];
  readonly #acts: Promise<unknown>[] = [];
  readonly #refused = new Set<unknown>();
  /** By run, step and attempt. */
  readonly #said = new Map<string, string>();
  #ids = 0;
  #sends = 0;

  constructor(roll: (sides: number) => number) {
    this.#roll = roll;
    this.#wild = roll(2) === 0;
    this.gateway.page = 4 + roll(6);
    this.gateway.maxMissed = roll(6);
    this.gateway.heartbeat = 1e6;
    this.talk.queues = true;
    this.talk.later = async (then) => {
      this.#later.push(then);
    };
    this.talk.beforeTold = this.talk.beforeAnswer = () =>
      new Promise((resolve) => {
        if (roll(2)) this.#later.push(resolve);
        else resolve();
      });
    const { handlers } = this.gateway;
    const startRun = handlers.get("chat:startRun");
    handlers.set("chat:startRun", (args, call) => {
      if (this.talk.refuses) this.#refused.add(args["input"]);
      return startRun?.(args, call);
    });
    handlers.set("chat:cancelRun", ({ threadKey, runId }) => ({
      cancelled: this.#cancel(threadKey as string, runId as string),
    }));
    handlers.set("agents:agentResolveApproval", ({ key }) => {
      this.#decide(key as string);
      return { approvalId: "a", decision: "approved", decidedBy: "ada" };
    });
    this.tabs = [this.#tab(), this.#tab()];
  }

  /** What the conversation says, and the server, one move of it. */
  serverMoves(): void {
    const open = this.talk.branches.filter(({ status, waiting }) => isBusy(status) || waiting[0]);
    const branch = open[this.#roll(open.length || 1)];
    const luck = this.#roll(24);
    if (luck < 3) this.#later.shift()?.();
    else if (luck === 3) this.talk.refuses = this.#roll(3) === 0;
    else if (luck === 4) this.talk.answersFirst = this.#roll(3) === 0;
    // A schedule, a signal, the result of a child: nobody here has sent it.
    else if (luck === 5 && !branch) this.talk.ask(this.talk.selected, "by the clock");
    else if (branch) this.#work(branch.key, luck);
  }

  /** What a person does in a tab. */
  personMoves(tab: Tab): void {
    const { chat } = tab;
    const { messages, pendingApprovals } = chat.state.get();
    const stored = messages.filter(({ role, optimistic }) => role === "user" && !optimistic);
    const one = stored[this.#roll(stored.length || 1)];
    const keys = this.talk.branches.map(({ key }) => key);
    const luck = this.#roll(16);
    if (luck < 6) {
      this.#send(tab);
    } else if (luck < 8) {
      tab.sent.clear();
      this.#act(chat.cancel("chat:cancelRun"));
    } else if (luck < 11 && pendingApprovals[0]) this.#act(chat.approve(pendingApprovals[0]));
    else if (luck === 11) this.#act(chat.loadOlder(3));
    else if (luck === 12) this.#act(chat.selectBranch(keys[this.#roll(keys.length)] ?? KEY));
    else if (luck > 12 && one) {
      tab.redone = true;
      this.#act(luck === 13 ? chat.regenerate(one.id) : chat.editMessage(one.id, "an edit"));
    }
  }

  /** Return what is wrong with what a person sees in a tab. */
  faultOf({ chat, sent, redone }: Tab): string | undefined {
    const state = chat.state.get();
    const fault = faultOf(state) ?? this.#misheard(state);
    if (fault || redone || this.#wild) return fault;
    const { messages } = state;
    const shown = this.#shownIn(state);
    const first = messages.find(({ optimistic }) => !optimistic)?.seq ?? 0;
    for (const { text, key } of sent) {
      if (shown !== key || messages.some((one) => one.text === text)) continue;
      // What waits, on a page that began anew, may be out of sight until its place is told.
      const { waiting } = this.talk.view(key);
      if (this.#refused.has(text) || (first > 1 && waiting.some((one) => one.text === text))) {
        continue;
      }
      const row = this.talk.rows(key).find((one) => one.text === text);
      if (!row || row.seq >= first) return `what was sent is gone: ${text}`;
    }
    return undefined;
  }

  /** What the network does to the frames of a tab. */
  networkMoves({ line }: Tab): void {
    const luck = this.#roll(40);
    const any = () => this.#roll(line.down.length || 1);
    if (luck === 0 || (luck === 1 && !this.#wild)) line.cut(this.#roll(3_000), this.#roll(600));
    else if (luck === 1) line.down.splice(any(), 1);
    else if (luck === 2 && this.#wild) line.double(any());
    else if (luck === 3 && this.#wild) line.deliver(any());
    else if (luck === 4 && this.#roll(20) === 0) this.#anotherTimeline();
    else if (luck < 12) this.time.pass(this.#roll(120));
    else if (luck < 15) line.connect();
    else if (luck < 25) line.hear();
    else line.deliver();
  }

  /** All runs end, all lines break once more and then hold, and time goes by. */
  async calm(): Promise<void> {
    this.talk.refuses = false;
    for (const { line } of this.tabs) line.cut();
    for (let quiet = 0; quiet < 10; quiet += 1) {
      if (this.#later.length + this.tabs.reduce((sum, tab) => sum + tab.line.up.length, 0) > 0) {
        quiet = 0;
      }
      for (const then of this.#later.splice(0)) then();
      for (const { line } of this.tabs) {
        line.connect();
        while (line.up.length > 0) line.hear();
        await turn();
        while (line.down.length > 0) line.deliver();
      }
      await turn();
      for (const { key, status, waiting } of this.talk.branches) {
        if (isBusy(status) || waiting.length > 0) quiet = 0;
        this.#finish(key);
      }
      this.time.pass(2_000);
    }
    const unanswered = turn().then(() => {
      throw new Error("a call has no answer");
    });
    await Promise.race([Promise.all(this.#acts), unanswered]);
  }

  close(): void {
    for (const { client } of this.tabs) client.close();
  }

  #tab(): Tab {
    const line = new VirtualLine((wire) => this.gateway.accept(wire));
    const client = createClient({
      url: "http://storm",
      environment: {
        open: line.open,
        now: this.time.now,
        random: () => 0,
        id: () => `d-${++this.#ids}`,
        after: this.time.after,
        onWake: () => () => {},
      },
    });
    return { client, chat: createChat(client, KEY), line, sent: new Set(), redone: false };
  }

  /** Return which branch a person sees; before its thread is known that may be any. */
  #shownIn({ thread }: ChatState): string | undefined {
    return thread?.key ?? (this.talk.branches.length === 1 ? KEY : undefined);
  }

  /** Return which text on show was not said so. */
  #misheard({ live }: ChatState): string | undefined {
    for (const { run, turn: step, attempt, parts } of live) {
      const said = this.#said.get(`${run}:${step}:${attempt}`) ?? "";
      const text = parts.map((part) => part.text).join("");
      if (!said.startsWith(text)) return `not what was said: ${text}`;
    }
    return undefined;
  }

  #send({ chat, sent }: Tab): void {
    this.#sends += 1;
    const text = `send ${this.#sends}`;
    const key = this.#shownIn(chat.state.get());
    if (key !== undefined) sent.add({ text, key });
    this.#act(chat.send(CALLS, text));
  }

  #act(act: Promise<unknown>): void {
    this.#acts.push(act.catch(() => {}));
  }

  #speech(key: string): Speech {
    const { runId } = this.talk.view(key) as { runId: string };
    const known = this.#speeches.get(runId) ?? { step: 0, attempt: 100, said: "" };
    this.#speeches.set(runId, known);
    return known;
  }

  #work(key: string, luck: number): void {
    const { status } = this.talk.view(key);
    const speech = this.#speech(key);
    if (!isBusy(status)) this.talk.next(key);
    else if (speech.asking !== undefined) {
      if (luck < 8) this.#decide(key);
    } else if (luck < 8) this.talk.work(key);
    else if (luck < 16) this.#speak(key, speech);
    else if (luck === 16) this.#takeOver(key, speech);
    else if (luck < 19) this.#call(key, speech);
    else if (luck === 19) this.#end(key, "failed");
    else if (luck === 20) this.#end(key, "completed");
    else this.#finish(key);
  }

  #speak(key: string, speech: Speech): void {
    const text = "word ".repeat(1 + this.#roll(3));
    const { step, attempt, said } = speech;
    const { runId: run } = this.talk.view(key) as { runId: string };
    const token = { run, turn: step, part: 0, kind: "text", attempt, text } as const;
    this.gateway.token(key, { ...token, offset: said.length });
    speech.said += text;
    this.#said.set(`${run}:${step}:${attempt}`, speech.said);
    // The worker that was taken for dead goes on a while.
    if (attempt > 100 && this.#roll(3) === 0)
      this.#speakLate(key, { ...token, attempt: attempt - 1 });
  }

  #speakLate(key: string, token: Omit<Token, "type" | "id" | "offset">): void {
    const { run, turn: step, attempt, text } = token;
    const name = `${run}:${step}:${attempt}`;
    const before = this.#said.get(name) ?? "";
    this.#said.set(name, before + text);
    this.gateway.raw(key, (id) => ({ type: "token", id, ...token, offset: before.length }));
  }

  /** Another worker goes on: it says the step again, with or without what was stored of it. */
  #takeOver(key: string, speech: Speech): void {
    if (speech.said !== "" && this.#roll(2)) {
      this.talk.put(key, { text: speech.said, turn: speech.step, status: "interrupted" });
    }
    speech.attempt += 1;
    speech.said = "";
    if (this.#roll(2)) this.#speak(key, speech);
  }

  /** A step ends with a call that waits for a person. */
  #call(key: string, speech: Speech): void {
    this.talk.put(key, { text: "let me see", turn: speech.step });
    const { seq } = this.talk.put(key, { role: "tool", text: "", status: "open" });
    const pendingApprovals = [anApproval({ key, toolCallId: `c-${key}-${seq}` })];
    this.talk.work(key, "awaiting_input", { pendingApprovals });
    Object.assign(speech, { step: speech.step + 1, said: "", asking: seq });
  }

  #decide(key: string): void {
    const speech = this.#speech(key);
    if (speech.asking === undefined) return;
    this.talk.work(key);
    this.talk.put(key, { role: "tool", text: "done", seq: speech.asking });
    speech.asking = undefined;
  }

  #cancel(key: string, runId: string): boolean {
    const view = this.talk.view(key);
    if (view.runId !== runId || !isBusy(view.status)) return false;
    this.#end(key, "cancelled");
    return true;
  }

  #end(key: string, status: "failed" | "cancelled" | "completed"): void {
    const speech = this.#speech(key);
    speech.asking = undefined;
    if (speech.said !== "" && status !== "completed") {
      this.talk.put(key, { text: speech.said, turn: speech.step, status: "interrupted" });
    }
    this.talk.work(key, status);
    this.talk.next(key);
  }

  #finish(key: string): void {
    if (isBusy(this.talk.view(key).status)) {
      this.#decide(key);
      const speech = this.#speech(key);
      this.talk.answer(key, `${speech.said}end`, { turn: speech.step });
    }
    this.talk.next(key);
  }

  /** The database was restored: a cursor of before says nothing. */
  #anotherTimeline(): void {
    this.gateway.timeline = `7311-${1 + this.#roll(9)}`;
    for (const { line } of this.tabs) line.cut();
  }
}

/** Return what no chat may ever show. */
function faultOf(state: ChatState): string | undefined {
  const { messages, live, streamingText } = state;
  const twice = (of: string, keys: readonly (string | undefined)[]) => {
    const known = keys.filter((key) => key !== undefined);
    return new Set(known).size === known.length ? undefined : `${of} stands twice`;
  };
  const stored = messages.filter(({ optimistic }) => !optimistic);
  const finished = stored.flatMap(({ role, runId, turn: step, status }) =>
    role === "assistant" && status !== "interrupted" ? [`${runId}:${step}`] : [],
  );
  const spoken = live.map((one) => `${one.run}:${one.turn}`);
  const hole = stored.some(
    ({ seq }, index) => index > 0 && seq !== (stored[index - 1]?.seq ?? 0) + 1,
  );
  return (
    twice(
      "a message",
      messages.map(({ id }) => id),
    ) ??
    twice(
      "what was sent",
      messages.map(({ dedupe }) => dedupe),
    ) ??
    twice("a step", [...finished, ...spoken]) ??
    (hole ? "a message is missing between others" : undefined) ??
    (streamingText !== "" && live.length === 0 ? "nobody speaks, and there is text" : undefined) ??
    (messages.findLastIndex(({ optimistic }) => !optimistic) >= stored.length
      ? "a message that is not stored stands before one that is"
      : undefined)
  );
}
