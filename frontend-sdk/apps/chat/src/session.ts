/**
 * Who we are: in development the server hands out a token, elsewhere the page is anonymous.
 *
 * Asked again on every connect, so a tab that slept through its token's life comes back.
 */

interface DevSession {
  readonly token: string;
  readonly userId: string;
}

export async function freshToken(): Promise<string | null> {
  const response = await fetch("/dev/session", { cache: "no-store" });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`no session: ${response.status}`);
  return ((await response.json()) as DevSession).token;
}
