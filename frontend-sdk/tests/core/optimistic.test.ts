import { describe, expect, it } from "vitest";
import { agentState, messagesOf } from "../../src/core/chat-state.js";
import { liveKey, messageKey, review, type Send, unsettled } from "../../src/core/optimistic.js";
import { aMessage, aThread } from "../support/builders.js";

const SEND: Send = { dedupe: "d-1", input: "hello", createdAt: "2026-11-29T17:33:00Z" };
const ROW = aMessage({ seq: 3, role: "user", text: "hello", dedupe: "d-1", runId: "r-2" });
const BEFORE = [aMessage({ seq: 1, role: "user" }), aMessage({ seq: 2 })];

describe("a send", () => {
  it("SDK-06 shows at once, after all that is stored", () => {
    const messages = messagesOf(BEFORE, [SEND]);

    expect(messages.map(({ text, optimistic }) => [text, optimistic ?? false])).toEqual([
      ["message 1", false],
      ["message 2", false],
      ["hello", true],
    ]);
  });

  it("SDK-06 is replaced by its row in the same computation, under the same key", () => {
    const bubble = messagesOf(BEFORE, [SEND]).at(-1);
    const stored = messagesOf([...BEFORE, ROW], [SEND]);

    expect(stored).toEqual([...BEFORE, ROW]);
    expect(bubble && messageKey(bubble)).toBe(messageKey(ROW));
  });

  it("is not mistaken for another message with the same text", () => {
    const { dedupe: _, ...other } = ROW;

    expect(messagesOf([...BEFORE, other], [SEND])).toHaveLength(4);
  });

  it("makes the chat busy until its run shows, in whatever order the news comes", () => {
    const old = aThread({ status: "completed", runId: "r-1" });
    const status = (send: Send, rows = BEFORE, thread = old) =>
      agentState(thread, rows, [send], undefined).status;

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
    expect(messagesOf(BEFORE, [])).toBe(BEFORE);
  });

  it("SDK-10 a finished message has the key of the text it grew from, an interrupted one its own", () => {
    expect(messageKey(aMessage({ seq: 2, runId: "r-1", turn: 3 }))).toBe(liveKey("r-1", 3));
    expect(messageKey(aMessage({ seq: 2, turn: 3, status: "interrupted" }))).toBe("m-2");
  });
});
