/** Addresses below `/admin`: which page, which thing on it, and what it is filtered by. */

import {
  type AnchorHTMLAttributes,
  type MouseEvent,
  type ReactNode,
  useSyncExternalStore,
} from "react";

export const BASE = "/admin";

export type Place =
  | { readonly page: "inbox"; readonly tab: "waiting" | "decided" }
  | { readonly page: "runs"; readonly id?: string }
  | { readonly page: "threads"; readonly key?: string }
  | { readonly page: "agents"; readonly slug?: string; readonly tab?: "configuration" }
  | { readonly page: "governance"; readonly tab: "lists" | "spend" | "audit" }
  | { readonly page: "system" }
  | { readonly page: "nowhere" };

/** Return the place that an address's path names. */
export function placeOf(path: string): Place {
  const inside = path.startsWith(BASE) ? path.slice(BASE.length) : path;
  const [page = "", ...rest] = inside
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  const [one, more, ...too] = rest;
  if (page === "agents" && one !== undefined && more === "configuration" && too.length === 0) {
    return { page, slug: one, tab: more };
  }
  if (more !== undefined) return { page: "nowhere" };
  switch (page) {
    case "":
      return { page: "inbox", tab: "waiting" };
    case "decided":
      return one === undefined ? { page: "inbox", tab: "decided" } : { page: "nowhere" };
    case "runs":
      return one === undefined ? { page } : { page, id: one };
    case "threads":
      return one === undefined ? { page } : { page, key: one };
    case "agents":
      return one === undefined ? { page } : { page, slug: one };
    case "governance":
      if (one === undefined) return { page, tab: "lists" };
      return one === "spend" || one === "audit" ? { page, tab: one } : { page: "nowhere" };
    case "system":
      return one === undefined ? { page } : { page: "nowhere" };
    default:
      return { page: "nowhere" };
  }
}

/** Return the address of a page, as `to("runs", id)`. */
export function to(...parts: readonly string[]): string {
  return [BASE, ...parts.map(encodeURIComponent)].join("/") + (parts.length === 0 ? "/" : "");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const listeners = new Set<() => void>();

function follow(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

export function navigate(address: string, how: "push" | "replace" = "push"): void {
  history[how === "push" ? "pushState" : "replaceState"](null, "", address);
  for (const listener of [...listeners]) listener();
}

export function usePath(): string {
  return useSyncExternalStore(follow, () => location.pathname);
}

/** What the address filters by, and how to change some of it. */
export function useFilter(): readonly [
  URLSearchParams,
  (changes: Readonly<Record<string, string | undefined>>) => void,
] {
  const search = useSyncExternalStore(follow, () => location.search);
  const change = (changes: Readonly<Record<string, string | undefined>>) => {
    const next = new URLSearchParams(location.search);
    for (const [name, value = ""] of Object.entries(changes)) {
      if (value === "") next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    navigate(location.pathname + (text === "" ? "" : `?${text}`), "replace");
  };
  return [new URLSearchParams(search), change];
}

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly href: string;
  readonly children: ReactNode;
}

/** A link within the page; with a key held it is the browser's. */
export function Link({ href, children, ...rest }: LinkProps): ReactNode {
  const click = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a href={href} onClick={click} {...rest}>
      {children}
    </a>
  );
}
