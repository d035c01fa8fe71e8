/** One client for all hooks below. */

import { createContext, createElement, type ReactNode, useContext } from "react";
import type { ChatClient } from "../core/index.js";

const Context = createContext<ChatClient | undefined>(undefined);

export interface ProviderProps {
  /** Made once, outside of any component: `const client = createClient({ token })`. */
  readonly client: ChatClient;
  readonly children?: ReactNode;
}

export function RopewalkProvider({ client, children }: ProviderProps): ReactNode {
  return createElement(Context.Provider, { value: client }, children);
}

export function useClient(): ChatClient {
  const client = useContext(Context);
  if (client === undefined) throw new Error("useClient: there is no RopewalkProvider above");
  return client;
}
