/** One client for all primitives below. */

import { createComponent, createContext, type JSX, useContext } from "solid-js";
import type { ChatClient } from "../core/index.js";

const Context = createContext<ChatClient>();

export interface ProviderProps {
  /** Made once, outside of any component: `const client = createClient({ token })`. */
  readonly client: ChatClient;
  readonly children?: JSX.Element;
}

export function RopewalkProvider(props: ProviderProps): JSX.Element {
  return createComponent(Context.Provider, {
    value: props.client,
    get children() {
      return props.children;
    },
  });
}

export function useClient(): ChatClient {
  const client = useContext(Context);
  if (client === undefined) throw new Error("useClient: there is no RopewalkProvider above");
  return client;
}
