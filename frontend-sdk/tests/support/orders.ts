/** An application with orders: a list, a count, and what changes them. */

import {
  type ChatClient,
  canonicalId,
  type LocalStore,
  mutation,
  query,
  type Readable,
  type SubscriptionView,
} from "../../src/core/index.js";
import { waitUntil } from "./wait-until.js";

export interface Order {
  readonly id: string;
  readonly article: string;
}

export const orders = {
  list: query<Record<string, never>, readonly Order[]>("orders:list"),
  count: query<Record<string, never>, number>("orders:count"),
  place: mutation<{ article: string }, { id: string }>("orders:place"),
};
export const LIST = canonicalId(orders.list, {});
export const COUNT = canonicalId(orders.count, {});

export const anOrder = (article: string, id = `id-of-${article}`): Order => ({ id, article });

/** As people write it at first: it adds a row that the effect, too, will add. */
export function appended(local: LocalStore, { article }: { readonly article: string }): void {
  const list = local.get(orders.list, {});
  if (list) local.set(orders.list, {}, [...list, anOrder(article, `new-${article}`)]);
  const count = local.get(orders.count, {});
  if (count !== undefined) local.set(orders.count, {}, count + 1);
}

export interface Recorded<T> {
  readonly view: Readable<SubscriptionView<T>>;
  /** The value at each time that there was something to draw. */
  readonly frames: (T | undefined)[];
  readonly stop: () => void;
}

export async function watchList(client: ChatClient): Promise<Recorded<readonly Order[]>> {
  const view = client.subscription(orders.list, {});
  const frames: (readonly Order[] | undefined)[] = [];
  const stop = view.subscribe(() => frames.push(view.get().value));
  await waitUntil(() => !view.get().loading, "the list is there");
  return { view, frames, stop };
}

export const articles = (list: readonly Order[] | undefined): string[] | undefined =>
  list?.map(({ article }) => article);
