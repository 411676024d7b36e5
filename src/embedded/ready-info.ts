import type { LocalChain, ServedChain } from "./local-chains.ts";

export interface ReadyInfo {
  graphql: string;
  rest: string;
  gateway: string;
  /** For people, in a browser. */
  console: string;
  rpcUrl: string | null;
  chainId: number | null;
  databaseUrl: string;
  apiKey: string;
  factory: string | null;
  relayer: string | null;
  /** All served chains; the chain members above describe the first local chain. */
  chains: { name: string; chainId: number; rpcUrl: string; factory: string | null; relayer: string | null }[];
}

/** The line for parent programs. Without the database, whose URL has a password: logs keep the line. */
export function readyLine({ databaseUrl: _, ...shown }: ReadyInfo): string {
  return `MINTYARD_READY ${JSON.stringify(shown)}\n`;
}

/** @param port of the API. @param env the children's environment. */
export function readyInfo(
  port: number,
  {
    databaseUrl,
    env,
    chains,
    locals,
  }: {
    databaseUrl: string;
    env: Readonly<Record<string, string>>;
    chains: readonly ServedChain[];
    locals: readonly LocalChain[];
  },
): ReadyInfo {
  const [first] = locals;
  const base = `http://127.0.0.1:${port}`;
  return {
    graphql: `${base}/graphql`,
    rest: `${base}/v0`,
    gateway: `${base}/ipfs`,
    console: `${base}/console`,
    rpcUrl: first?.rpcUrl ?? null,
    chainId: first?.id ?? null,
    databaseUrl,
    apiKey: env["MINTYARD_API_KEY"] ?? "",
    factory: first?.factory.address ?? null,
    relayer: first?.relayer ?? null,
    chains: chains.map((chain) => ({
      name: chain.name,
      chainId: chain.id,
      rpcUrl: chain.local ? (chain.rpcUrls[0] ?? "") : "configured",
      factory: chain.factory?.address ?? null,
      relayer: locals.find((local) => local.name === chain.name)?.relayer ?? null,
    })),
  };
}
