/** A function of the server as one of the page's own, with what is known of its calls. */

import type { Arguments } from "./api.js";
import { asError, type RopewalkError } from "./errors.js";
import { Cell, type Readable } from "./store.js";

export interface CallState {
  /** A call has no answer yet. */
  readonly pending: boolean;
  /** Why a call failed, until the next one is made. */
  readonly error: RopewalkError | undefined;
}

export interface Caller<Args, Result> {
  /** Call it, once whatever happens to the connection. Rejects if the call fails. */
  (...args: Arguments<Args>): Promise<Result>;
  readonly state: Readable<CallState>;
}

export function caller<Args, Result>(call: (args: Args) => Promise<Result>): Caller<Args, Result> {
  let open = 0;
  const state = new Cell<CallState>({ pending: false, error: undefined });
  const tell = (change: number, error?: RopewalkError) => {
    open += change;
    state.set({ pending: open > 0, error });
  };
  return Object.assign(
    async (...[args]: Arguments<Args>) => {
      tell(1);
      try {
        const result = await call((args ?? {}) as Args);
        tell(-1, state.get().error);
        return result;
      } catch (thrown) {
        tell(-1, asError(thrown));
        throw thrown;
      }
    },
    { state },
  );
}
