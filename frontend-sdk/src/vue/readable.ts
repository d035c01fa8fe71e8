/**
 * The bridge: a `Readable` of the core as refs.
 *
 * Law: what is read is computed when it is read, from the `Readable` of that moment.  So when
 * another thread is shown, its values are there in the same step, before any watcher has run.
 */

import {
  type ComputedRef,
  computed,
  hasInjectionContext,
  inject,
  type MaybeRefOrGetter,
  shallowRef,
  ssrContextKey,
  toValue,
  watch,
} from "vue";
import type { Readable } from "../core/index.js";

/** A ref for each property, which changes only if that property does. */
export type Fields<T> = { readonly [Name in keyof T]-?: ComputedRef<T[Name]> };

/** The value of `readable`, watched until the scope is disposed of. On a server it is only read. */
export function useReadable<T>(readable: MaybeRefOrGetter<Readable<T>>): ComputedRef<T> {
  const source = computed(() => toValue(readable));
  const changes = shallowRef(0);
  const onServer = hasInjectionContext() && inject(ssrContextKey, undefined) !== undefined;
  if (!onServer) {
    watch(source, ({ subscribe }, _, onCleanup) => onCleanup(subscribe(() => changes.value++)), {
      immediate: true,
      flush: "sync",
    });
  }
  return computed(() => {
    changes.value;
    return source.value.get();
  });
}

/** The value of `readable`, an object that always has the same properties, as a ref for each. */
export function useFields<T extends object>(readable: MaybeRefOrGetter<Readable<T>>): Fields<T> {
  const value = useReadable(readable);
  const names = Object.keys(value.value) as (keyof T)[];
  return Object.fromEntries(
    names.map((name) => [name, computed(() => value.value[name])]),
  ) as Fields<T>;
}
