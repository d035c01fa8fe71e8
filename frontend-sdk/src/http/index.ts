/** The door to the HTTP client; `ropewalk` hands it on. */

export {
  AgentsClient,
  type ApprovalsQuery,
  type PageOptions,
  type Session,
  type StreamOptions,
} from "./agents.js";
export { ApprovalsClient, type DecideOptions } from "./approvals.js";
export { createHttpClient, HttpClient, type HttpClientOptions } from "./client.js";
export type {
  Accepted,
  AgentCard,
  Prompt,
  SendSignal,
  SessionList,
  SessionSummary,
  Signalled,
} from "./http.gen.js";
export { HttpError } from "./http-error.js";
export { type Run, RunsClient } from "./runs.js";
export type { StreamEvent } from "./telling.js";
export type { Fetch, RequestOptions } from "./transport.js";
