import { describe, expect, it } from "vitest";
import { agentState, messagesOf } from "../../src/core/chat-state.js";
import type { ThreadView, WaitingSend } from "../../src/core/index.js";
import {
  type ChatMessage,
  liveKey,
  messageKey,
  review,
  type Send,
  unsettled,
  waitingOf,
} from "../../src/core/optimistic.js";
import { aMessage, aThread } from "../support/builders.js";

const SEND: Send = { dedupe: "d-1", input: "hello", createdAt: "2026-11-29T17:33:00Z" };
const ROW = aMessage({ seq: 3, role: "user", text: "hello", dedupe: "d-1", runId: "r-2" });
const BEFORE = [aMessage({ seq: 1, role: "user" }), aMessage({ seq: 2 })];

describe("a send", () => {
  it("SDK-06 shows at once, after all that is stored", () => {
    const messages = messagesOf(BEFORE, [SEND], []);

    expect(messages.map(({ text, optimistic }) => [text, optimistic ?? false])).toEqual([
      ["message 1", false],
      ["message 2", false],
      ["hello", true],
    ]);
  });

  it("SDK-06 is replaced by its row in the same computation, under the same key", () => {
    const bubble = messagesOf(BEFORE, [SEND], []).at(-1);
    const stored = messagesOf([...BEFORE, ROW], [SEND], []);

    expect(stored).toEqual([...BEFORE, ROW]);
    expect(bubble && messageKey(bubble)).toBe(messageKey(ROW));
  });

  it("is not mistaken for another message with the same text", () => {
    const { dedupe: _, ...other } = ROW;

    expect(messagesOf([...BEFORE, other], [SEND], [])).toHaveLength(4);
  });

  it("makes the chat busy until its run shows, in whatever order the news comes", () => {
    const old = aThread({ status: "completed", runId: "r-1" });
    const status = (send: Send, rows = BEFORE, thread = old) =>
      agentState(thread, rows, { sends: [send], failure: undefined }, undefined).status;

    expect(status(SEND)).toBe("queued");
    expect(status({ ...SEND, runId: "r-2" })).toBe("queued");
    expect(status(SEND, [...BEFORE, ROW])).toBe("queued");
    expect(status(SEND, [...BEFORE, ROW], aThread({ runId: "r-2" }))).toBe("running");
    expect(
      status({ ...SEND, runId: "r-2" }, BEFORE, aThread({ runId: "r-2", status: "failed" })),
    ).toBe("failed");
  });

  it("B98 does not keep the chat busy when another run came and went after it", () => {
    const rows = [...BEFORE, ROW, aMessage({ seq: 4, runId: "r-3" })];

    expect(unsettled([SEND], rows, aThread({ runId: "r-3", status: "completed" }))).toEqual([]);
  });

  it("is forgotten when it is stored and its run was seen, and stays seen until then", () => {
    const thread = aThread({ runId: "r-2", status: "completed" });
    const answered: Send = { ...SEND, runId: "r-2" };
    const [seen] = review([answered], BEFORE, thread);

    expect(seen).toMatchObject({ seen: true });
    expect(unsettled(seen ? [seen] : [], BEFORE, aThread({ runId: "r-3" }))).toEqual([]);
    expect(review([answered], [...BEFORE, ROW], thread)).toEqual([]);
  });

  it("leaves the list alone when there is nothing to note", () => {
    const sends = [SEND];

    expect(review(sends, BEFORE, null)).toBe(sends);
    expect(messagesOf(BEFORE, [], [])).toBe(BEFORE);
  });

  it("SDK-10 a finished message has the key of the text it grew from, an interrupted one its own", () => {
    expect(messageKey(aMessage({ seq: 2, runId: "r-1", turn: 3 }))).toBe(liveKey("r-1", 3));
    expect(messageKey(aMessage({ seq: 2, turn: 3, status: "interrupted" }))).toBe("m-2");
  });

  it("B44 does not keep the chat busy when its run was over in the first news of it", () => {
    const over = aThread({ runId: "r-2", status: "failed" });

    expect(unsettled([{ ...SEND, runId: "r-2" }], [...BEFORE, ROW], over)).toEqual([]);
  });
});

const WAITING: WaitingSend = {
  id: "r-2",
  kind: "run",
  text: "hello",
  position: 1,
  createdAt: "2026-11-29T17:33:00Z",
};
const NOTED: WaitingSend = { ...WAITING, id: "s-1", kind: "signal", text: "a note" };
const texts = (messages: readonly ChatMessage[]) => messages.map(({ text }) => text);

describe("a message that waits on the server", () => {
  it("CON-04 SUB-02 shows after all that is stored, in the order in which it is read", () => {
    const second = { ...WAITING, id: "r-3", text: "and then?", position: 2, author: "ann" };

    const messages = messagesOf(BEFORE, [], [WAITING, second]);

    expect(messages.slice(2)).toMatchObject([
      { text: "hello", optimistic: true, waiting: { position: 1 }, seq: 3, runId: "r-2" },
      { text: "and then?", optimistic: true, waiting: { position: 2 }, seq: 4, author: "ann" },
    ]);
  });

  it("SDK-06 is one bubble from the send over the queue to its row, under one key", () => {
    const queued = { ...WAITING, dedupe: "d-1" };
    const steps = [
      messagesOf(BEFORE, [SEND], []),
      messagesOf(BEFORE, [{ ...SEND, runId: "r-2" }], []),
      messagesOf(BEFORE, [{ ...SEND, runId: "r-2" }], [queued]),
      messagesOf([...BEFORE, ROW], [{ ...SEND, runId: "r-2", waited: true }], [queued]),
      messagesOf([...BEFORE, ROW], [{ ...SEND, runId: "r-2", waited: true }], []),
    ];

    expect(steps.map(texts)).toEqual(steps.map(() => ["message 1", "message 2", "hello"]));
    expect(new Set(steps.map((one) => one[2] && messageKey(one[2]))).size).toBe(1);
  });

  it("SUB-04 is one bubble for those who did not send it, too", () => {
    const { dedupe: _, ...row } = ROW;
    const steered = { ...row, id: "s-1", text: "a note", runId: "r-1" };

    expect(messagesOf([...BEFORE, row], [], [WAITING])).toEqual([...BEFORE, row]);
    expect(messagesOf([...BEFORE, steered], [], [NOTED])).toEqual([...BEFORE, steered]);
  });

  it("SIG-06 several that are read as one message are that message alone", () => {
    const other = { ...NOTED, id: "s-2", text: "another" };
    const late = { ...NOTED, id: "s-3", text: "too late" };
    const row = aMessage({
      seq: 3,
      id: "s-1",
      role: "user",
      text: "[message] a note\n[message] another\n",
    });

    const messages = messagesOf([...BEFORE, row], [], [NOTED, other, late]);

    expect(texts(messages).slice(2)).toEqual([row.text, "too late"]);
  });

  it("does not make the chat busy: the thread says whether it is", () => {
    const thread = aThread({ runId: "r-1", waiting: [WAITING] });

    expect(unsettled([{ ...SEND, runId: "r-2" }], BEFORE, thread)).toEqual([]);
    expect(unsettled([SEND], BEFORE, thread)).toEqual([SEND]);
    expect(
      unsettled([SEND], BEFORE, aThread({ waiting: [{ ...WAITING, dedupe: "d-1" }] })),
    ).toEqual([]);
  });

  it("is noted when it waits, and when it waits no more and no row has come", () => {
    const answered: Send = { ...SEND, runId: "r-2" };
    const waits = review([answered], BEFORE, aThread({ waiting: [WAITING] }));
    const withdrawn = review(waits, BEFORE, aThread());

    expect(waits).toEqual([{ ...answered, seen: true, waited: true }]);
    expect(withdrawn).toEqual([{ ...answered, seen: true, waited: true, lost: true }]);
    expect(review(withdrawn, BEFORE, aThread())).toBe(withdrawn);
    expect(review(withdrawn, BEFORE, aThread({ waiting: [WAITING] }))).toEqual(waits);
    expect(review(withdrawn, [...BEFORE, ROW], aThread())).toEqual([]);
  });

  it("a server of an earlier day, which says nothing of it, is understood", () => {
    const { waiting: _, ...thread } = aThread();

    expect(waitingOf(thread as ThreadView)).toEqual([]);
  });
});
