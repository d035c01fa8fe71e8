/** What another page than the chat puts under a message, beside what the chat has there. */

import { createContext, type ReactNode, useContext } from "react";
import type { ChatMessage } from "ropewalk";

type More = (message: ChatMessage) => ReactNode;

const Context = createContext<More | undefined>(undefined);

export const MoreUnder = Context.Provider;

export function useMore(): More | undefined {
  return useContext(Context);
}
