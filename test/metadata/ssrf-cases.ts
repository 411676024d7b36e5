import type { LookupAddress } from "node:dns";

/** A URL that must not be reached, and what its name resolves to. */
export interface SsrfCase {
  what: string;
  /** With `PORT` where the listener's port belongs. */
  url: string;
  answers?: LookupAddress[];
}

const targets = ["127.0.0.1", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"];

const special4 = [
  ...["127.255.255.254", "10.255.255.255", "172.31.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255"],
  ...["198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"],
];

const special6 = [
  ...["::", "::1", "0:0:0:0:0:0:0:1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "ff0e::1"],
  ...["2001:db8::1", "100::1", "2001:10::1", "2001:20::1", "2001:2::1", "64:ff9b:1::1", "2002::1", "::2"],
  ...["fe80::1%25lo", "::1%25lo"],
];

/** Every way to write an IPv4 address that some parser takes. */
function spellings(address: string): string[] {
  const parts = address.split(".").map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number, width = 0) => value.toString(16).padStart(width, "0");
  const pair = (high: number, low: number) => hex(high * 256 + low);
  const words = `${pair(a, b)}:${pair(c, d)}`;
  const wide = [...address].map((letter) =>
    letter === "." ? "。" : String.fromCodePoint(0xfee0 + letter.charCodeAt(0)),
  );
  return [
    ...[address, `${address}.`, String(whole), `0x${hex(whole, 8)}`, `0${whole.toString(8)}`],
    ...[`${a}.${b}.${c * 256 + d}`, `${a}.${(b * 256 + c) * 256 + d}`],
    ...[parts.map((part) => `0x${hex(part)}`).join("."), parts.map((part) => `0${part.toString(8)}`).join(".")],
    ...[
      `0x${hex(a)}.${b}.0${c.toString(8)}.${d}`,
      parts.map((part) => `000${part.toString(8)}`).join("."),
      wide.join(""),
    ],
    ...[`[::ffff:${address}]`, `[::ffff:${words}]`, `[0:0:0:0:0:ffff:${words}]`, `[::${address}]`, `[::${words}]`],
    ...[`[64:ff9b::${address}]`, `[64:ff9b::${words}]`, `[64:ff9b:1::${words}]`, `[2002:${words}::]`],
    ...[`[2001:0:${words}::]`, `[fe80::5efe:${words}]`, address.replaceAll(".", "%2e")],
  ];
}

const family = (address: string): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 });
const publicAddress = "93.184.216.34";

const literals = [
  ...targets.flatMap(spellings),
  ...special4,
  ...special6.map((address) => `[${address}]`),
  ...["localhost", "LOCALHOST", "localhost.", "ip6-localhost", "ｌocalhost", "router", "kubernetes", "①②⑦.⓪.⓪.①"],
].map((host): SsrfCase => ({ what: host, url: `http://${host}:PORT/` }));

const names = [
  ...targets,
  "::1",
  "fe80::1",
  "fd00::1",
  "::ffff:127.0.0.1",
  "::7f00:1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
]
  .flatMap((address): [string, LookupAddress[]][] => [
    [`a name of ${address}`, [family(address)]],
    [`a name of ${address} behind a public one`, [family(publicAddress), family(address)]],
    [`a name of ${address} before a public one`, [family(address), family(publicAddress)]],
  ])
  .map(([what, answers], at): SsrfCase => ({ what, url: `http://n${at}.example:PORT/`, answers }));

const private4 = [family("127.0.0.1")];
const shapes: SsrfCase[] = [
  { what: "punycode", url: "http://xn--bcher-kva.example:PORT/", answers: private4 },
  { what: "letters that punycode writes", url: "http://bücher.example:PORT/", answers: private4 },
  { what: "a name with a dot at its end", url: "http://some.example.:PORT/", answers: private4 },
  { what: "a wildcard name service", url: "http://127.0.0.1.nip.example:PORT/", answers: private4 },
  { what: "https", url: "https://some.example/", answers: private4 },
  { what: "a user in front", url: "http://public.example@127.0.0.1:PORT/" },
  { what: "a user and a password", url: "http://a:b@127.0.0.1:PORT/" },
  { what: "a user before a public host", url: "http://a@public.example/", answers: [family(publicAddress)] },
  { what: "a password before a public host", url: "http://:b@public.example/", answers: [family(publicAddress)] },
  { what: "backslashes", url: "http:\\\\127.0.0.1:PORT/" },
  { what: "a backslash before the real host", url: "http://127.0.0.1:PORT\\@public.example/" },
  { what: "a hash before the real host", url: "http://127.0.0.1:PORT#@public.example/" },
  { what: "tabs and line ends", url: "ht\ntp://127.0\t.0.1:PORT/" },
  { what: "no slashes", url: "http:127.0.0.1:PORT/" },
  { what: "many slashes", url: "http://///127.0.0.1:PORT/" },
  ...[21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 445, 2375, 3306, 5432, 6379, 8080, 9200, 11211, 27017].map(
    (port) => ({
      what: `port ${port} of a public host`,
      url: `http://${publicAddress}:${port}/`,
    }),
  ),
  ...[
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/",
    "ftp://127.0.0.1/",
    "dict://127.0.0.1:PORT/",
    "ws://127.0.0.1:PORT/",
  ].map((url) => ({ what: url, url })),
  ...["http://", "http://[", "http://[::1", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://%00/"].map((url) => ({
    what: `no URL: ${url}`,
    url,
  })),
];

export const ssrfCases: readonly SsrfCase[] = [...literals, ...names, ...shapes];

/** The answers of the cases' names, as a resolver. */
export function resolverOf(cases: readonly SsrfCase[]): (name: string) => Promise<LookupAddress[]> {
  const known = new Map(
    cases.flatMap(({ url, answers }) =>
      answers ? [[new URL(url.replace("PORT", "80")).hostname, answers] as const] : [],
    ),
  );
  return async (name) => {
    const answers = known.get(name);
    if (!answers) throw Object.assign(new Error(`${name} is not known`), { code: "ENOTFOUND" });
    return answers;
  };
}

/** A header cannot carry the rest. */
export function fitsHeader({ url }: SsrfCase): boolean {
  return /^[\x20-\x7e]*$/.test(url);
}
