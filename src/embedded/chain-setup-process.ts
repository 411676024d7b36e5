/*
 * Prepares chains for a launcher that starts (chain-setup.ts): node src/embedded/chain-setup-process.ts, with an IPC
 * channel. It ends with that channel.
 */
import { loadChains } from "../config/chain-settings.ts";
import { openKeySigners } from "../signing/in-process.ts";
import { createLogger } from "../telemetry/log.ts";
import type { SetupReply, SetupRequest } from "./chain-setup.ts";
import { prepareLocalChain } from "./local-chains.ts";

process.once("disconnect", () => process.exit());
if (process.connected === false) process.exit();
process.on("message", (request: SetupRequest) => {
  const reply = (rest: Omit<SetupReply, "id">) => process.send?.({ id: request.id, ...rest }, () => undefined);
  answer(request).then(
    (value) => reply({ answer: value }),
    (error: Error) => reply({ error: error.message }),
  );
});

async function answer(request: SetupRequest): Promise<unknown> {
  if (request.call === "prepare") {
    const { node, relayerKeyFile, record, logLevel } = request.ask;
    return await prepareLocalChain(node, relayerKeyFile, record, createLogger("start", logLevel));
  }
  return loadChains(request.ask).map((chain) => ({
    name: chain.name,
    id: chain.id,
    local: chain.local,
    rpcUrls: chain.rpcUrls,
    factory: chain.factory && { address: chain.factory.address },
    wallets: [...chain.relay.wallets, ...openKeySigners(chain).map(({ address }) => address)],
  }));
}
