/** SDK-14 What the compiler must accept and refuse of the HTTP client. Never run. */

import {
  createHttpClient,
  type Message,
  query,
  RopewalkError,
  type StreamEvent,
  type ThreadView,
} from "../../src/core/index.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};

interface Invoice {
  readonly total: number;
}

const client = createHttpClient({ url: "https://chat.example.com", token: () => "t" });
const sales = query<{ year: number }, readonly Invoice[]>("invoices:ofYear");

export async function use(thrown: unknown, event: StreamEvent): Promise<void> {
  const { sessionId, runId } = await client.agents.prompt("billing", {
    message: "Write it",
    outputSchema: { type: "object" },
  });
  is<Equal<typeof sessionId, string>>();
  is<Equal<typeof runId, string>>();
  // @ts-expect-error a prompt says something
  await client.agents.prompt("billing", {});
  // @ts-expect-error there is no such option
  await client.agents.prompt("billing", { message: "hi", temperature: 1 });

  const session = await client.agents.getSession<Invoice>("billing", sessionId, { limit: 10 });
  is<Equal<typeof session.output, Invoice | null>>();
  is<Equal<typeof session.messages, readonly Message[]>>();
  is<Equal<typeof session.goal, null>>();
  const untyped = await client.agents.getSession("billing", sessionId);
  is<Equal<typeof untyped.output, unknown>>();
  const run = await client.runs.get<Invoice>(runId);
  is<Equal<typeof run.output, Invoice | null>>();

  const { woke } = await client.agents.sendSignal("billing", sessionId, {
    message: "and in EUR",
    mode: "inject",
  });
  is<Equal<typeof woke, boolean>>();
  // @ts-expect-error there is no such mode
  await client.agents.sendSignal("billing", sessionId, { message: "now", mode: "now" });

  const invoices = await client.call(sales, { year: 2026 });
  is<Equal<typeof invoices, readonly Invoice[]>>();
  // @ts-expect-error the year is a number
  await client.call(sales, { year: "2026" });

  switch (event.type) {
    case "text":
      is<Equal<typeof event.delta, string>>();
      // @ts-expect-error text is of the whole message
      event.part;
      break;
    case "thread":
      is<Equal<typeof event.thread, ThreadView | null>>();
      break;
    case "message":
      is<Equal<typeof event.message, Message>>();
      break;
  }
  if (thrown instanceof RopewalkError && thrown.code === "CONFLICT") thrown.data;
}
