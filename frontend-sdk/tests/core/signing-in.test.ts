/** Whoever signs in is who the client speaks for, whatever was under way just then. */

import { describe, expect, it } from "vitest";
import { type ChatClient, createChat } from "../../src/core/index.js";
import { Conversation } from "../support/conversation.js";
import type { TestGateway } from "../support/gateway.js";
import { CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

class Person {
  user = "ann";
  readonly gateway: TestGateway;
  readonly client: ChatClient;

  constructor(gateway: TestGateway) {
    this.gateway = gateway;
    gateway.judge = (token) => token ?? null;
    this.client = connect(gateway, { token: () => this.user, speed: 10 });
    createChat(this.client, "k").state.subscribe(() => {});
  }

  async is(user: string): Promise<void> {
    await waitUntil(() => {
      const state = this.client.connection.get();
      return state.name === "open" && state.identity?.userId === user;
    }, `${user} is here`);
  }

  async signIn(user: string): Promise<void> {
    this.user = user;
    await this.client.authenticate();
  }
}

describe("signing in", () => {
  it("shows nothing of what the one before had sent, though it waits on the server still", async () => {
    const person = new Person(await startGateway());
    const talk = new Conversation(person.gateway, "k");
    talk.queues = true;
    talk.ask("k", "one");
    const chat = createChat(person.client, "k");
    const { frames } = record(chat);
    await person.is("ann");
    await chat.send(CALLS, "ann's secret");
    await waitUntil(() => chat.state.get().messages.at(-1)?.waiting !== undefined, "it waits");
    frames.length = 0;

    await person.signIn("bob");
    await person.is("bob");
    await waitUntil(() => chat.state.get().status === "queued", "bob sees the thread");

    // Of the server's own word he sees what he may.
    const unsaid = frames.filter(({ thread }) => thread === undefined);
    expect(unsaid.length).toBeGreaterThan(0);
    expect(unsaid.flatMap(({ messages }) => messages)).toEqual([]);
    expect(frames.every(({ error }) => error === undefined)).toBe(true);
  });

  it("while the socket is still opened", async () => {
    const person = new Person(await startGateway());

    await person.signIn("bob");

    await person.is("bob");
  });

  it("while another token is judged", async () => {
    const person = new Person(await startGateway());
    await person.is("ann");

    await person.client.authenticate();
    await person.signIn("bob");

    await person.is("bob");
    expect(person.gateway.connections).toBe(1);
  });

  it.each(["UNAVAILABLE", "FORBIDDEN", "RATE_LIMITED"] as const)(
    "is tried on another socket when the answer is %s",
    async (code) => {
      const person = new Person(await startGateway());
      await person.is("ann");

      person.gateway.silent = true;
      await person.signIn("bob");
      await waitUntil(() => person.gateway.got("auth").length === 1, "the token was shown");
      person.gateway.silent = false;
      person.gateway.broadcast({ type: "error", code, message: "not just now" });

      await person.is("bob");
      expect(person.gateway.connections).toBe(2);
    },
  );
});
