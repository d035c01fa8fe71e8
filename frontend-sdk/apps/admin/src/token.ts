/**
 * Where the token of this tab comes from: pasted by a person, or in development from the server.
 *
 * A pasted one stays in this tab's storage and goes with the tab.  Who signs out stays signed
 * out, in development too.
 */

const STORED = "ropewalk.admin.token";
const SIGNED_OUT = "";

/** A pasted token; `null` when somebody signed out, undefined while nobody said anything. */
export function storedToken(): string | null | undefined {
  try {
    const found = sessionStorage.getItem(STORED);
    if (found === null) return undefined;
    return found === SIGNED_OUT ? null : found;
  } catch {
    return undefined;
  }
}

export function keepToken(token: string | null | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, token ?? SIGNED_OUT);
  } catch {
    // Then it lasts as long as the page.
  }
}

/** `ropewalk dev` does not sign this page in, and says why. */
export class NotSignedIn extends Error {}

/**
 * A token from `ropewalk dev`; undefined where nobody gives one away.
 *
 * @throws NotSignedIn where it is given to others.
 */
export async function developmentToken(): Promise<string | undefined> {
  const response = await fetch("/dev/session?role=admin", { cache: "no-store" });
  if (response.status === 404) return undefined;
  if (response.status === 403) {
    throw new NotSignedIn(((await response.json()) as { readonly message: string }).message);
  }
  if (!response.ok) throw new Error(`no session: ${response.status}`);
  return ((await response.json()) as { readonly token: string }).token;
}

/** The token to speak with outside of the socket. */
export async function currentToken(): Promise<string | undefined> {
  return storedToken() ?? (await developmentToken());
}
