/** The way in: a token with the role `admin`. */

import { type FormEvent, type ReactNode, useState } from "react";
import { Logo } from "../../chat/src/icons.js";

interface SignInProps {
  readonly signIn: (token: string) => void;
  /** Why the last token did not do. */
  readonly trouble?: string | undefined;
  /** Why a server of a development gives none to this page. */
  readonly why?: string | undefined;
  /** Where the server gives a token away. */
  readonly development?: () => void;
}

export function SignIn({ signIn, trouble, why, development }: SignInProps): ReactNode {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim().replace(/^Bearer\s+/i, "");
    if (given !== "") signIn(given);
  };
  return (
    <main className="gate">
      <Logo />
      <h1>Ropewalk admin</h1>
      <p>
        Sign in with a token that carries the role <code>admin</code>. It stays in this tab and is
        gone when you close it.
      </p>
      {why !== undefined && <p data-testid="not-signed-in">{why}</p>}
      <form onSubmit={submit}>
        <label htmlFor="token">Token</label>
        <textarea
          id="token"
          data-testid="token"
          rows={4}
          spellCheck={false}
          autoComplete="off"
          value={token}
          aria-invalid={trouble !== undefined}
          aria-describedby={trouble === undefined ? undefined : "token-trouble"}
          onChange={(event) => setToken(event.target.value)}
        />
        {trouble !== undefined && (
          <p className="trouble" id="token-trouble" role="alert" data-testid="token-trouble">
            {trouble}
          </p>
        )}
        <button type="submit" className="primary" disabled={token.trim() === ""}>
          Sign in
        </button>
        {development && (
          <button type="button" onClick={development}>
            Use the development session
          </button>
        )}
      </form>
      <p className="soft">
        No token? Your sign-in system issues them;{" "}
        <code>ropewalk token --user ID --role admin</code> mints one where the shared secret is
        known.
      </p>
    </main>
  );
}

interface RefusedProps {
  readonly user: string | undefined;
  readonly roles: readonly string[];
  readonly signOut: () => void;
}

export function Refused({ user, roles, signOut }: RefusedProps): ReactNode {
  return (
    <main className="gate" data-testid="refused">
      <Logo />
      <h1>This needs the role admin</h1>
      <p>
        You are signed in as <strong>{user ?? "somebody"}</strong>
        {roles.length > 0 ? `, with the role ${roles.join(", ")}` : ", without a role"}. The admin
        UI shows every conversation, so the server answers admins alone.
      </p>
      <p>
        Ask whoever issues your tokens for the role, or sign in with another token. The name of the
        claim that carries roles is the server's setting <code>JWT_ROLES_CLAIM</code>.
      </p>
      <button type="button" className="primary" onClick={signOut}>
        Sign in with another token
      </button>
    </main>
  );
}
