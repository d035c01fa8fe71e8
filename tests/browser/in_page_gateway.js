/**
 * A gateway within the page, before the page's own script: what is measured is the page alone.
 *
 * It has one conversation, and speaks as fast as the page can listen: one frame a task, as a
 * browser hands them on.
 */

window.gateway = {
  rows: [],
  view: null,
  version: 1,
  socket: undefined,
  ids: new Map(),

  send(frame) {
    this.socket?.onmessage?.({ data: JSON.stringify(frame) });
  },

  take(frame) {
    const { type, id, query } = frame;
    if (type === "hello")
      this.send({ type: "welcome", session: "s", identity: null, heartbeat: 60 });
    if (type === "ping") this.send({ type: "pong" });
    if (type === "call") this.send({ type: "result", id, value: null });
    if (type !== "subscribe") return;
    const values = { "agents:agentMessages": this.rows, "agents:agentThread": this.view };
    this.ids.set(query, id);
    this.send({ type: "snapshot", id, cursor: `t.${this.version}`, value: values[query] ?? [] });
  },

  /** Let the conversation have so many messages, and a run that works. */
  begin(key, count) {
    const at = "2026-11-30T07:00:00Z";
    this.rows = Array.from({ length: count }, (_, index) => {
      const text = `Message ${index + 1}. It says **this** and \`that\`, and more.`;
      const role = index % 2 === 0 ? "user" : "assistant";
      const turn = role === "assistant" ? { turn: 0 } : {};
      return {
        ...{ id: `m-${index + 1}`, seq: index + 1, runId: `r-${index >> 1}`, role, ...turn },
        ...{ text, parts: [{ type: "text", text }], status: "complete", createdAt: at },
      };
    });
    const usage = { requests: 0, inputTokens: 0, outputTokens: 0 };
    this.view = {
      ...{ key, agent: "support", title: "Costs", status: "running", runId: "r-live", error: null },
      usage: { ...usage, cacheReadTokens: 0, cacheWriteTokens: 0 },
      ...{ pendingApprovals: [], waiting: [], createdAt: at, updatedAt: at },
    };
  },

  /** Say `text` in tokens of `size` characters, from `offset` on; returns when it was heard. */
  async speak({ part, kind, offset, text, size }) {
    const id = this.ids.get("agents:agentMessages");
    const { port1, port2 } = new MessageChannel();
    const heard = new Promise((resolve) => {
      let at = 0;
      port1.onmessage = () => {
        if (at >= text.length) {
          port1.close();
          resolve();
          return;
        }
        const piece = text.slice(at, at + size);
        const said = { run: "r-live", turn: 0, part, kind, offset: offset + at, text: piece };
        at += piece.length;
        this.send({ type: "token", id, attempt: 1, ...said });
        port2.postMessage(null);
      };
    });
    port2.postMessage(null);
    await heard;
    // What is known is drawn.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 300)));
  },

  /** Do the same piece of work in so many tasks: how fast is this machine just now? */
  async loop(times) {
    for (let task = 0; task < times; task += 1) {
      await new Promise((resolve) => setTimeout(resolve));
      let sum = 0;
      for (let turn = 0; turn < 16_000; turn += 1)
        sum += JSON.stringify([turn, "word ".repeat(20)]).length;
      this.sum = sum;
    }
  },
};

window.WebSocket = class {
  constructor() {
    window.gateway.socket = this;
    setTimeout(() => this.onopen?.());
  }

  send(text) {
    setTimeout(() => window.gateway.take(JSON.parse(text)));
  }

  close() {}
};
