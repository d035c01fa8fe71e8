/**
 * The address of the socket.
 *
 * An absolute `url` is taken apart by hand: the `URL` of React Native has no parts.
 */

const ABSOLUTE = /^(?:http|ws)(s?:\/\/[^/?#]+)([^?#]*)([^#]*)/i;

/** Return the address of the socket below `url`, or below the page's own address. */
export function socketUrl(url = "/"): string {
  const [, host, path, query] = ABSOLUTE.exec(url) ?? ABSOLUTE.exec(onPage(url)) ?? [];
  return `ws${host}${path?.replace(/^\/?$/, "/ws")}${query}`;
}

function onPage(url: string): string {
  const { location } = globalThis as { location?: { href: string } };
  // Where there is no page, as on a server that renders one, nothing is ever dialled.
  return new URL(url, location?.href ?? "http://localhost").href;
}
