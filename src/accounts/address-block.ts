import ipaddr from "ipaddr.js";

/**
 * The block of addresses that one client is taken to have: an IPv4 /24, an IPv6 /48. An IPv4 address in an IPv6 one is
 * an IPv4 address.
 *
 * @param address as the socket or a trusted proxy names it; null: not known.
 * @returns `192.0.2.0/24`, `2001:db8:1::/48`, or `?` for what is no address.
 */
export function addressBlock(address: string | null): string {
  if (address === null || !ipaddr.isValid(address)) return "?";
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  const bits = parsed.kind() === "ipv4" ? 24 : 48;
  const network = ipaddr.fromByteArray(bytes.map((byte, index) => (index < bits / 8 ? byte : 0)));
  return `${network.toString()}/${bits}`;
}
