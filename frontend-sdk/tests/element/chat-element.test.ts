// @vitest-environment happy-dom
/** `<ropewalk-chat>` shows a conversation that lives on a gateway, over a real socket. */

import { beforeEach, describe, expect, it } from "vitest";
import type { Message, TokenKind } from "../../src/core/index.js";
import { aMessage, anApproval, aThread } from "../support/builders.js";
import { Refusal, type TestGateway } from "../support/gateway.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { parts, put, saidAloud, texts, the, write } from "./support.js";

const KEY = "t-1";
const DONE = aThread({ status: "completed" });

let gateway: TestGateway;

beforeEach(async () => {
  localStorage.clear();
  gateway = await startGateway();
});

function open(attributes: Readonly<Record<string, string>> = { thread: KEY }) {
  return put(connect(gateway), { agent: "support", ...attributes });
}

function callsOf(fn: string): unknown[] {
  return gateway.got("call").flatMap((call) => (call.fn === fn ? [call.args] : []));
}

function speak(text: string, offset = 0, kind: TokenKind = "text", part = 0): void {
  gateway.token(KEY, { run: "r-1", turn: 0, part, kind, offset, text, attempt: 100 });
}

/** Show stored messages of a run that is over, and wait until they stand there. */
async function stored(rows: readonly Message[]) {
  gateway.commit(KEY, rows, DONE);
  const element = open();
  await waitUntil(() => parts(element, "message").length > 0, "the messages are there");
  return element;
}

const CALL = {
  type: "tool_call",
  toolCallId: "c-1",
  name: "refund",
  input: { amount: 60 },
} as const;

describe("messages", () => {
  it("shows what is sent at once, one bubble of it ever, and the answer as it grows", async () => {
    gateway.handlers.set("agents:agentRun", (_, { dedupe = "" }) => {
      const row = aMessage({ seq: 1, role: "user", text: "Hello", dedupe });
      gateway.commit(KEY, [row], aThread());
      return { id: "r-1", key: KEY };
    });
    const element = open();
    write(element, "Hello");
    const bubbles = new Set<string>();
    await waitUntil(() => {
      bubbles.add(texts(element, "message").join());
      return the(element, "status").textContent === "Working";
    }, "it works");

    expect([...bubbles].filter((one) => one !== "")).toEqual(["Hello"]);
    expect(callsOf("agents:agentRun")).toEqual([{ agent: "support", key: KEY, input: "Hello" }]);

    speak("It is ");
    await waitUntil(() => texts(element, "writing").join() === "It is ", "the first words");
    const article = the(element, "writing");
    const words = the(article, "text");
    const node = words.firstChild;
    speak("warm.", 6);
    await waitUntil(() => texts(element, "writing").join() === "It is warm.", "the rest");
    // What stood there is the same text node: the new words are one of their own.
    expect(words.firstChild).toBe(node);
    expect(node?.textContent).toBe("It is ");
    expect(saidAloud(element)).toBe("");

    gateway.commit(KEY, [aMessage({ seq: 2, text: "It is warm." })], DONE);
    await waitUntil(() => parts(element, "writing").length === 0, "it is stored");
    expect(parts(element, "message").at(-1)).toBe(article);
    expect(words.firstChild).toBe(node);
    expect(saidAloud(element)).toBe("It is warm.");
  });

  it("says nothing aloud of what was there when it was opened", async () => {
    const element = await stored([aMessage({ seq: 1, text: "An old answer" })]);

    expect(saidAloud(element)).toBe("");
    gateway.commit(KEY, [aMessage({ seq: 2, turn: 1, text: "A new one" })], DONE);
    await waitUntil(() => saidAloud(element) !== "", "the new one is said");
    expect(saidAloud(element)).toBe("A new one");
  });

  it("draws markup as the text that it is, in every kind of part", async () => {
    const evil = '<img src="x" onerror="alert(1)"><script>alert(2)</script>';
    const result = { type: "tool_result", toolCallId: "c-1", name: evil, output: evil } as const;
    const element = await stored([
      aMessage({ seq: 1, role: "user", text: evil }),
      aMessage({
        seq: 2,
        parts: [
          { type: "text", text: evil },
          { type: "thinking", text: evil },
          { ...CALL, name: evil, input: { note: evil } },
          { type: "data", name: evil, value: evil },
          { type: "file", mediaType: evil, url: "https://files.test/1", name: evil },
        ],
      }),
      aMessage({ seq: 3, role: "tool", parts: [{ ...result, isError: false }] }),
    ]);
    element.setAttribute("heading", evil);
    await waitUntil(() => the(element, "heading").textContent === evil, "the heading");

    expect(element.shadowRoot?.querySelectorAll("img, script")).toHaveLength(0);
    expect(texts(element, "text")).toEqual([evil, evil, evil]);
    expect(the(element, "result").textContent).toBe(evil);
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "blob:x", "http://[", "vbscript:x"])(
    "follows no address such as %s",
    async (url) => {
      const file = { type: "file", url, name: "a file" } as const;
      const element = await stored([
        aMessage({
          seq: 1,
          parts: [
            { ...file, mediaType: "image/png" },
            { ...file, mediaType: "text/plain" },
          ],
        }),
      ]);

      expect(element.shadowRoot?.querySelectorAll("a, img")).toHaveLength(0);
      expect(texts(element, "file")).toEqual(["a file", "a file"]);
    },
  );

  it("shows images, and links that tell their target nothing of the page", async () => {
    const url = "https://files.test/rope.png";
    const element = await stored([
      aMessage({
        seq: 1,
        parts: [
          { type: "file", mediaType: "image/png", url, name: "A rope" },
          { type: "file", mediaType: "application/pdf", url },
        ],
      }),
    ]);

    const image = the<HTMLImageElement>(element, "image");
    expect([image.src, image.alt]).toEqual([url, "A rope"]);
    const link = element.shadowRoot?.querySelector("a");
    expect([link?.href, link?.rel, link?.textContent]).toEqual([
      url,
      "noreferrer",
      "application/pdf",
    ]);
  });

  it("shows a call's arguments as they are written, then the call, then its result", async () => {
    gateway.commit(KEY, [aMessage({ seq: 1, role: "user" })], aThread());
    const element = open();
    await waitUntil(() => parts(element, "message").length > 0, "the question");
    speak("Let me see.");
    speak('{"amount"', 0, "tool_args", 1);
    await waitUntil(() => texts(element, "arguments").join() === '{"amount"', "the first of them");
    speak(": 60}", 9, "tool_args", 1);
    await waitUntil(() => texts(element, "arguments").join() === '{"amount": 60}', "all of them");

    const said = aMessage({ seq: 2, parts: [{ type: "text", text: "Let me see." }, CALL] });
    const opened = aMessage({
      seq: 3,
      role: "tool",
      status: "open",
      parts: [{ type: "tool_result", toolCallId: "c-1", name: "refund" }],
    });
    gateway.commit(KEY, [said, opened], aThread());
    await waitUntil(() => texts(element, "tool-header").join() === "refund: Running", "it runs");
    const card = the(element, "tool");

    const output = {
      type: "tool_result",
      toolCallId: "c-1",
      name: "refund",
      output: "paid",
    } as const;
    const answered = {
      ...opened,
      status: "complete",
      parts: [{ ...output, isError: false }],
    } as const;
    gateway.commit(KEY, [answered], DONE);
    await waitUntil(() => texts(element, "tool-header").join() === "refund: Done", "it is done");
    expect(the(element, "tool")).toBe(card);
    expect(the(element, "result").textContent).toBe("paid");
    // A result is a row of its own, and stands in the card of its call.
    expect(the(element, "result").dataset["messageId"]).toBe("m-3");
    expect(parts(element, "message")).toHaveLength(2);
  });

  it("loads what came before", async () => {
    gateway.commit(
      KEY,
      Array.from({ length: 60 }, (_, index) => aMessage({ seq: index + 1, turn: index })),
      DONE,
    );
    const element = open();
    await waitUntil(() => parts(element, "message").length === 50, "the newest page");
    const newest = parts(element, "message").at(-1);
    the(element, "older").click();
    await waitUntil(() => parts(element, "message").length === 60, "the page before");

    expect(texts(element, "message")[0]).toBe("message 1");
    expect(parts(element, "message").at(-1)).toBe(newest);
    expect(the(element, "older").hidden).toBe(true);
  });
});

describe("what a person does", () => {
  it("gives back what could not be sent, and says why", async () => {
    gateway.handlers.set("agents:agentRun", () => {
      throw new Refusal("FORBIDDEN", "not you");
    });
    const element = open();
    write(element, "Hello");
    await waitUntil(() => the(element, "error").textContent?.startsWith("not you") ?? false, "why");

    expect(the<HTMLTextAreaElement>(element, "input").value).toBe("Hello");
    expect(texts(element, "message")).toEqual([]);
  });

  it("stops the run that is seen, and lets a failed one go on", async () => {
    gateway.handlers.set("agents:agentCancel", () => ({ cancelled: true }));
    gateway.handlers.set("agents:agentRetry", () => ({ retried: true }));
    gateway.commit(KEY, [aMessage({ seq: 1, role: "user" })], aThread());
    const element = open();
    await waitUntil(() => !the(element, "stop").hidden, "it can be stopped");
    the(element, "stop").click();
    await waitUntil(() => callsOf("agents:agentCancel").length > 0, "it is stopped");
    expect(callsOf("agents:agentCancel")).toEqual([{ key: KEY, runId: "r-1" }]);

    const error = { code: "INTERNAL", message: "it broke" };
    gateway.commit(KEY, [], aThread({ status: "failed", error }));
    await waitUntil(() => !the(element, "error").hidden, "it failed");
    expect(the(element, "error").textContent).toContain("it broke");
    expect(the(element, "stop").hidden).toBe(true);
    the(element, "retry").click();
    await waitUntil(() => callsOf("agents:agentRetry").length > 0, "it goes on");
  });

  it("takes the focus to where one writes", () => {
    const element = open();
    element.focus();

    expect(element.shadowRoot?.activeElement).toBe(the(element, "input"));
  });

  it("leaves Enter to who composes, and begins a line with Shift", () => {
    const element = open();
    const area = the<HTMLTextAreaElement>(element, "input");
    area.value = "Hello";
    const press = (init: KeyboardEventInit) => {
      const event = new KeyboardEvent("keydown", { key: "Enter", cancelable: true, ...init });
      area.dispatchEvent(event);
      return event.defaultPrevented;
    };

    expect(press({ isComposing: true })).toBe(false);
    expect(press({ keyCode: 229 })).toBe(false);
    expect(press({ shiftKey: true })).toBe(false);
    expect(area.value).toBe("Hello");
    expect(press({})).toBe(true);
    expect(area.value).toBe("");
  });
});

describe("what waits for a person", () => {
  const asking = aMessage({ seq: 2, parts: [CALL] });
  const decisions: unknown[] = [];

  async function asked(over: Parameters<typeof anApproval>[0] = {}) {
    decisions.length = 0;
    gateway.handlers.set("agents:agentResolveApproval", (args) => {
      decisions.push(args);
      return { approvalId: "a-1", decision: args["decision"], decidedBy: "user-1" };
    });
    const pendingApprovals = [anApproval(over)];
    gateway.commit(KEY, [asking], aThread({ status: "awaiting_input", pendingApprovals }));
    const element = open();
    await waitUntil(() => parts(element, "approval").length > 0, "it asks");
    return element;
  }

  const NAMED = { key: KEY, toolCallId: "c-1", inputHash: "h-1" };

  it("APR-02 approves what was shown, and keeps the focus at the card", async () => {
    const element = await asked();
    expect(the(element, "tool").getAttribute("aria-label")).toBe("Tool refund: Needs approval");
    expect(parts(element, "edit")).toEqual([]);
    the(element, "approve").focus();
    the(element, "approve").click();
    await waitUntil(() => decisions.length > 0, "it is decided");
    expect(decisions).toEqual([{ ...NAMED, decision: "approved" }]);

    gateway.commit(KEY, [], aThread());
    await waitUntil(() => parts(element, "approval").length === 0, "the question is gone");
    expect(element.shadowRoot?.activeElement).toBe(the(element, "tool"));
  });

  it("rejects with the reason that was written", async () => {
    const element = await asked();
    the(element, "reject").click();
    const field = the<HTMLTextAreaElement>(element, "field");
    expect(element.shadowRoot?.activeElement).toBe(field);
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    expect(element.shadowRoot?.activeElement).toBe(the(element, "reject"));

    the(element, "reject").click();
    field.value = " too much ";
    the<HTMLFormElement>(element, "answer").requestSubmit();
    await waitUntil(() => decisions.length > 0, "it is decided");
    expect(decisions).toEqual([{ ...NAMED, decision: "denied", reason: "too much" }]);
  });

  it.each([
    ["{", "This is no JSON"],
    ["[1]", "The arguments are an object"],
  ])("approves with other arguments, but not with %s", async (wrong, why) => {
    const element = await asked({ editable: true });
    the(element, "edit").click();
    const field = the<HTMLTextAreaElement>(element, "field");
    expect(JSON.parse(field.value)).toEqual({ amount: 60 });
    field.value = wrong;
    the<HTMLFormElement>(element, "answer").requestSubmit();
    expect(the(element, "trouble").textContent).toContain(why);
    expect(decisions).toEqual([]);

    field.value = '{"amount": 50}';
    the<HTMLFormElement>(element, "answer").requestSubmit();
    await waitUntil(() => decisions.length > 0, "it is decided");
    expect(decisions).toEqual([{ ...NAMED, decision: "approved", editedInput: { amount: 50 } }]);
  });

  it("says why a decision was refused, and takes another", async () => {
    const element = await asked();
    gateway.handlers.set("agents:agentResolveApproval", () => {
      throw new Refusal("FORBIDDEN", "ask your boss");
    });
    the(element, "approve").click();
    await waitUntil(() => the(element, "trouble").textContent !== "", "it is refused");

    expect(the(element, "trouble").textContent).toBe("ask your boss");
    expect(the<HTMLButtonElement>(element, "approve").disabled).toBe(false);
  });

  it("asks for a child agent, too, whose call is in no message here", async () => {
    const element = await asked({ key: "child", runId: "r-9", toolCallId: "c-9", name: "pay" });
    expect(texts(element, "tool-header")).toEqual(["refund: Running", "pay: Needs approval"]);
    the(element, "approve").click();
    await waitUntil(() => decisions.length > 0, "it is decided");
    expect(decisions).toEqual([
      { key: "child", toolCallId: "c-9", inputHash: "h-1", decision: "approved" },
    ]);
  });
});
