import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** Looks up all addresses of a name. */
type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Which URLs of third parties are allowed. */
export interface GuardRules {
  /** Also allows hosts that are not on the public internet, unusual ports and names without a dot. */
  allowPrivate: boolean;
  /** As in a URL; 80 and 443 when absent. */
  ports?: readonly string[];
  /** Uses the machine's name servers when absent. */
  resolve?: Resolve;
}

export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/**
 * Addresses that look public but lead to a cloud's internal services, such as metadata with credentials. Those of AWS,
 * GCP, Oracle, DigitalOcean (169.254.0.0/16, fd00::/8) and Alibaba (100.100.100.200) are in special ranges. Source:
 * Azure, "What is IP address 168.63.129.16?"; Oracle Cloud Classic, "Retrieving Instance Metadata" (192.0.0.192).
 */
const cloudAddresses: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** True for an address on the public internet; false for every special range, and for any other text. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast" || cloudAddresses.has(address.toString())) return false;
  // ipaddr.js takes ::7f00:1 for unicast, but all of ::/96 once stood for the IPv4 address in its last bytes.
  return (
    address.kind() === "ipv4" ||
    address
      .toByteArray()
      .slice(0, 12)
      .some((byte) => byte !== 0)
  );
}

/**
 * Checks the text of a URL: scheme, port, credentials, and the host if it is an address. WHATWG parsing has already
 * turned decimal, octal, hexadecimal and short IPv4 spellings into the dotted form. A name is checked by
 * `guardedLookup` once its addresses are known.
 */
export function isAllowedUrl(url: URL, rules: GuardRules): boolean {
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  if (url.username !== "" || url.password !== "") return false;
  if (rules.allowPrivate) return true;
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (!(rules.ports ?? ["80", "443"]).includes(port)) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (ipaddr.isValid(host)) return isPublicAddress(host);
  return host.includes(".");
}

/**
 * A `lookup` for connections that refuses a name if any of its addresses is not public. It runs for the very connection
 * that is made, so DNS rebinding does not get past it. Node does not call it for literal addresses; `isAllowedUrl`
 * covers those.
 */
export function guardedLookup(rules: GuardRules): LookupFunction {
  // In a closed network names may be in the hosts file, which only the system's resolver reads.
  const resolve = rules.resolve ?? (rules.allowPrivate ? (name: string) => lookup(name, { all: true }) : resolvePublic);
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || (!rules.allowPrivate && !addresses.every(({ address }) => isPublicAddress(address)))) {
          callback(new AddressRefused(`${hostname} has no public address`), "", 0);
        } else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
}

/**
 * Queries the name servers from the event loop. The system's resolver blocks one of four threads for each name, and
 * those threads also read files: a third party's slow name server would stop the whole process.
 */
async function resolvePublic(hostname: string): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer, index) =>
    answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  );
  if (addresses.length === 0 && answers[0].status === "rejected") throw answers[0].reason;
  return addresses;
}
