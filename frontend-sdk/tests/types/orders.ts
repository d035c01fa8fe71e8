/** Functions of an application, and what a component is given, for the compiler. */

import { action, mutation, query } from "../../src/core/index.js";

export interface Order {
  readonly id: string;
}

export const orders = {
  all: query<Record<string, never>, readonly Order[]>("orders:all"),
  list: query<{ status?: "open" | "sent" | null }, readonly Order[]>("orders:list"),
  one: query<{ id: string }, Order | null>("orders:one"),
  place: mutation<{ article: string }, Order>("orders:place"),
  clear: mutation<Record<string, never>, null>("orders:clear"),
  ship: action<{ id: string }, boolean>("orders:ship"),
};

export declare const props: { readonly id: string };
