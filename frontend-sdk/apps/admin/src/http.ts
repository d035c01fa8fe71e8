/** What is asked over HTTP, because no function of the socket does it. */

import { currentToken } from "./token.js";

/**
 * Post a body and return what is answered.
 *
 * @throws Error with the server's own sentence when it refuses.
 */
export async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const token = await currentToken();
  const response = await fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  if (response.ok) return (await response.json()) as Answer;
  const refusal = (await response.json().catch(() => ({}))) as { readonly message?: string };
  throw new Error(refusal.message ?? `The server answered ${response.status}.`);
}
