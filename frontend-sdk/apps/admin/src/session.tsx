/** Who is signed in, and the one client that speaks for him. */

import { type ReactNode, useCallback, useEffect, useState } from "react";
import { type ChatClient, createClient } from "ropewalk";
import { RopewalkProvider, useClient, useConnection, useQuery } from "ropewalk/react";
import { api } from "./api.js";
import { App } from "./app.js";
import { Refused, SignIn } from "./sign-in.js";
import { developmentToken, keepToken, NotSignedIn, storedToken } from "./token.js";
import { Loading } from "./ui/states.js";

type Stage =
  | { readonly name: "looking" }
  | { readonly name: "asking"; readonly offersDevelopment: boolean; readonly why?: string }
  | { readonly name: "in"; readonly client: ChatClient };

export function Session(): ReactNode {
  const [stage, setStage] = useState<Stage>({ name: "looking" });

  useEffect(() => {
    let gone = false;
    firstStage().then((found) => {
      if (!gone) setStage(found);
      else if (found.name === "in") found.client.close();
    });
    return () => {
      gone = true;
    };
  }, []);

  const signIn = useCallback((token: string) => {
    keepToken(token);
    setStage({ name: "in", client: clientWith(async () => token) });
  }, []);
  const signInForDevelopment = useCallback(() => {
    keepToken(undefined);
    location.reload();
  }, []);
  const signOut = useCallback(() => {
    keepToken(null);
    // Nothing of what was shown stays in memory.
    location.reload();
  }, []);

  switch (stage.name) {
    case "looking":
      return <Loading what="the session" />;
    case "asking":
      return (
        <SignIn
          signIn={signIn}
          why={stage.why}
          {...(stage.offersDevelopment && { development: signInForDevelopment })}
        />
      );
    case "in":
      return (
        <RopewalkProvider client={stage.client}>
          <Admitted signIn={signIn} signOut={signOut} />
        </RopewalkProvider>
      );
  }
}

async function firstStage(): Promise<Stage> {
  const stored = storedToken();
  if (typeof stored === "string") return { name: "in", client: clientWith(async () => stored) };
  let why: string | undefined;
  const offered = await developmentToken().catch((error: unknown) => {
    if (error instanceof NotSignedIn) why = error.message;
    return undefined;
  });
  if (stored === null || offered === undefined) {
    const offersDevelopment = offered !== undefined;
    return { name: "asking", offersDevelopment, ...(why !== undefined && { why }) };
  }
  return { name: "in", client: clientWith(async () => (await developmentToken()) ?? null) };
}

function clientWith(token: () => Promise<string | null>): ChatClient {
  return createClient({ url: "/ws", token });
}

/** The pages for whoever has the role; for others what to do about it. */
function Admitted(props: {
  readonly signIn: (token: string) => void;
  readonly signOut: () => void;
}): ReactNode {
  const client = useClient();
  const connection = useConnection();
  const system = useQuery(api.system);
  // Roles other than admin may have been given this one.
  const governance = useQuery(api.governance, system.error?.code === "FORBIDDEN" ? {} : "skip");
  const [user, setUser] = useState<string>();
  const refusal = useRefusal();
  const identity = connection.name === "open" ? connection.identity : undefined;

  useEffect(() => {
    if (identity) setUser(identity.userId);
  }, [identity]);

  if (refusal !== undefined) {
    const again = (token: string) => {
      client.close();
      props.signIn(token);
    };
    return <SignIn signIn={again} trouble={refusal} />;
  }
  const isRefused = system.error?.code === "FORBIDDEN";
  if (isRefused && governance.value === undefined) {
    if (governance.error === undefined) return <Loading what="what you may see" />;
    return <Refused user={user} roles={identity?.roles ?? []} signOut={props.signOut} />;
  }
  if (user === undefined) return <Loading what="the connection" />;
  return <App user={user} system={system} signOut={props.signOut} isAdmin={!isRefused} />;
}

/** Why the server does not take our token; it stays said while the client tries again. */
function useRefusal(): string | undefined {
  const connection = useConnection();
  const client = useClient();
  const [refusal, setRefusal] = useState<{ readonly of: ChatClient; readonly why: string }>();
  const why =
    connection.name === "waiting" && connection.error?.code === "UNAUTHENTICATED"
      ? connection.error.message
      : connection.name === "open" && connection.identity === null
        ? "The server knows nobody by this token."
        : undefined;
  useEffect(() => {
    if (why !== undefined) setRefusal({ of: client, why });
  }, [client, why]);
  // Who signs in anew has another client, and nothing was said of that one.
  return refusal?.of === client ? refusal.why : undefined;
}
