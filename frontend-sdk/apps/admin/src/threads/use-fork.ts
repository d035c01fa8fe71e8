/** A conversation of one's own that begins with copies, and going there. */

import { type AgentForkArgs, RopewalkError } from "ropewalk";
import { useClient } from "ropewalk/react";
import { api } from "../api.js";
import { navigate, to } from "../router.js";
import { type Act, useAct } from "../ui/use-act.js";

interface Fork extends Omit<Act, "act"> {
  readonly fork: (args: AgentForkArgs) => void;
}

export function useFork(): Fork {
  const client = useClient();
  const { act, ...rest } = useAct();
  const ask = async (args: AgentForkArgs) => {
    const { key } = await client.call(api.agents.agentFork, args);
    navigate(to("threads", key));
  };
  const fork = (args: AgentForkArgs) =>
    void act(async () => {
      try {
        await ask(args);
      } catch (thrown) {
        const after = resultsAfter(thrown);
        // After a call means after its result: what is copied has to make sense.
        if (args.edge === "before" || after === undefined) throw thrown;
        await ask({ ...args, messageId: after });
      }
    });
  return { ...rest, fork };
}

/** Return the message that ends what a refused cut would have torn apart. */
export function resultsAfter(thrown: unknown): string | undefined {
  if (!(thrown instanceof RopewalkError) || thrown.code !== "INVALID_ARGUMENT") return undefined;
  const after = (thrown.data as { readonly after?: unknown } | null | undefined)?.after;
  return typeof after === "string" ? after : undefined;
}
