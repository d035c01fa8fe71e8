/** Addresses that come from a model, a tool or another person, before anything is done with them. */

/** Return the address if it is one of the web, else undefined: `javascript:`, `data:` and their like. */
export function webAddress(url: string): string | undefined {
  try {
    const { protocol, href } = new URL(url, document.baseURI);
    return protocol === "https:" || protocol === "http:" ? href : undefined;
  } catch {
    return undefined;
  }
}
