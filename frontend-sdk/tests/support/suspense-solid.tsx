/** @jsxImportSource solid-js */
/** The page with a boundary, in Solid. */

import { createSignal, ErrorBoundary, Suspense, startTransition } from "solid-js";
import { render } from "solid-js/web";
import { createSuspenseQuery, RopewalkProvider } from "../../src/solid/index.js";
import { oneOrder } from "../contract/functions-suite.js";
import type { ShowOrder } from "../contract/suspense-suite.js";

function Order(props: { id: string }) {
  const order = createSuspenseQuery(oneOrder, () => ({ id: props.id }));
  return <p>{`${props.id}: ${order()?.article}`}</p>;
}

export const showOrder: ShowOrder = (client, target, first) => {
  const [id, setId] = createSignal(first);
  const page = () => (
    <RopewalkProvider client={client}>
      <ErrorBoundary fallback={(error: Error) => error.message}>
        <Suspense fallback="waiting">
          <Order id={id()} />
        </Suspense>
      </ErrorBoundary>
    </RopewalkProvider>
  );
  const leave = render(page, target);
  const show = (next: string, transition: boolean) => {
    if (transition) void startTransition(() => setId(next));
    else setId(next);
  };
  return { show, leave };
};
