/** Return the address of the socket below `url`, or below the page's own address. */
export function socketUrl(url?: string): string {
  const { location } = globalThis as { location?: { href: string } };
  // Where there is no page, as on a server that renders one, nothing is ever dialled.
  const address = new URL(url ?? "/", location?.href ?? "http://localhost");
  address.protocol = address.protocol.replace("http", "ws");
  if (address.pathname === "/") address.pathname = "/ws";
  address.hash = "";
  return address.href;
}
