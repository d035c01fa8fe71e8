const DOLLARS = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

export function dollars(cents: number): string {
  return DOLLARS.format(cents / 100);
}
