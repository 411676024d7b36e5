import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { addressOf, type Movement, nobody } from "../setup/nft-fixture.ts";

export interface Serving {
  url: string;
  port: number;
  close(): Promise<void>;
}

/** Lets a server answer on a free port of loopback. */
export async function listen(server: Server, host = "127.0.0.1", at = 0): Promise<Serving> {
  await new Promise<void>((done, failed) => server.once("error", failed).listen(at, host, done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** The mint of a token, for the index. */
export function mintOf(contract: string, tokenId: bigint): Movement {
  return { contract: contract.toLowerCase(), tokenId, from: nobody, to: addressOf(0x11) };
}
