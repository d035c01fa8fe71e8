/** CLI-09 What the compiler must accept and refuse of queries, mutations and actions. Never run. */

import {
  createClient,
  type FunctionRef,
  type QueryRef,
  type ResultOf,
  ref,
} from "../../src/core/index.js";
import { useAction, useMutation, useQuery, useReadable } from "../../src/react/index.js";
import { api } from "../support/setup.js";
import { type Order, orders } from "./orders.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};

const client = createClient();
is<Equal<ResultOf<typeof orders.list>, readonly Order[]>>();

const one = useQuery(orders.one, { id: "1" });
is<Equal<typeof one.value, Order | null | undefined>>();
useQuery(orders.one, "skip");
useQuery(orders.one, Math.random() > 0.5 ? { id: "1" } : "skip");
useQuery(orders.all);
useQuery(orders.all, {});
useQuery(orders.list);
useQuery(orders.list, { status: "open" });
// @ts-expect-error it wants an id
useQuery(orders.one);
// @ts-expect-error it wants an id
useQuery(orders.one, {});
// @ts-expect-error the id is a string
useQuery(orders.one, { id: 1 });
// @ts-expect-error there is no such status
useQuery(orders.list, { status: "lost" });
// @ts-expect-error it takes no such argument
useQuery(orders.all, { limit: 1 });
// @ts-expect-error another word than "skip"
useQuery(orders.one, "later");
// @ts-expect-error a mutation cannot be watched
useQuery(orders.place, { article: "tea" });
// @ts-expect-error an action cannot be watched
client.subscription(orders.ship, { id: "1" });
// @ts-expect-error nor asked as a query
void client.query(orders.ship, { id: "1" });

const place = useMutation(orders.place, {
  optimistic(local, { article }) {
    is<Equal<typeof article, string>>();
    const list = local.get(orders.list, { status: "open" });
    is<Equal<typeof list, readonly Order[] | undefined>>();
    local.set(orders.list, { status: "open" }, [{ id: article }]);
    // @ts-expect-error that is no order
    local.set(orders.list, { status: "open" }, [article]);
    // @ts-expect-error the list takes no such argument
    local.get(orders.list, { state: "open" });
    // @ts-expect-error only queries have answers to change
    local.set(orders.ship, { id: "1" }, true);
  },
});
const placed = place({ article: "tea" });
is<Equal<typeof placed, Promise<Order>>>();
const { pending, error } = useReadable(place.state);
is<Equal<typeof pending, boolean>>();
error?.code;
// @ts-expect-error it wants an article
void place({});
// @ts-expect-error it wants an article
void place();
void useMutation(orders.clear)();
// @ts-expect-error a query changes nothing
useMutation(orders.one);
// @ts-expect-error an action is no transaction
useMutation(orders.ship);
// @ts-expect-error an action is no transaction
void client.mutate(orders.ship, { id: "1" });

const shipped = useAction(orders.ship)({ id: "1" });
is<Equal<typeof shipped, Promise<boolean>>>();
// @ts-expect-error a mutation is no action
useAction(orders.place);
void useAction(api.agents.agentCancel)({ key: "t-1" });

// Anything can be called; and what `ref` gives may stand for any kind.
void client.call(orders.one, { id: "1" });
const plain = ref<{ id: string }, Order>("orders:plain");
useQuery(plain, { id: "1" });
void useMutation(plain)({ id: "1" });
void useAction(plain)({ id: "1" });
// @ts-expect-error it is typed all the same
useQuery(plain, { id: 1 });
useQuery("orders:one", { id: "1" });
void useMutation("orders:place")({ article: "tea" });
is<Equal<typeof orders.one extends FunctionRef ? true : false, true>>();
is<Equal<typeof orders.place extends QueryRef ? true : false, false>>();
