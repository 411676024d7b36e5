/*
 * Prepares chains for a launcher that is starting (local-chains.ts): node src/embedded/chain-setup-process.ts, with an
 * IPC channel. It ends with that channel.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { type Address, createWalletClient, type Hex, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Chain } from "../chains.ts";
import { loadChains } from "../config/chain-settings.ts";
import { createRpcClients } from "../rpc/clients.ts";
import { openKeySigners } from "../signing/in-process.ts";
import { createLogger, type Logger } from "../telemetry/log.ts";
import { deployFactory, deployOperatorAndEasy } from "../transactions/operator/deploy-contracts.ts";
import type { FactoryRecord, LocalNode, SetupCalls, SetupReply, SetupRequest } from "./local-chains.ts";

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

/**
 * Sets up a funded relayer and the collection factory on a local chain; keeps what is there already.
 *
 * @param relayerKeyFile of the relayer's private key; created here at the first start, so never a well-known key.
 * @param record of the factory that an earlier start deployed.
 */
async function prepareLocalChain(
  node: LocalNode,
  relayerKeyFile: string,
  record: FactoryRecord | null,
  log: Logger,
): Promise<SetupCalls["prepare"]["answer"]> {
  const relayerKey = readKey(relayerKeyFile);
  const relayer = privateKeyToAccount(relayerKey).address;
  const chain = localChain(node, relayerKey);
  await fundRelayer(chain, relayer);
  return { relayer, factory: await ensureFactory(chain, record, log) };
}

function readKey(file: string): Hex {
  try {
    writeFileSync(file, `0x${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8").trim() as Hex;
}

function localChain({ name, id, rpcUrl }: LocalNode, relayerKey: Hex): Chain {
  const suffix = name.toUpperCase();
  const [chain] = loadChains({
    [`RPC_URL_${suffix}`]: rpcUrl,
    [`CHAIN_ID_${suffix}`]: String(id),
    [`LOCAL_${suffix}`]: "on",
    [`RELAYER_KEY_${suffix}`]: relayerKey,
  });
  if (!chain) throw new Error(`the local chain ${name} is not configured`);
  return chain;
}

/** A plain transfer from the node's first unlocked account, so that the funding is part of the chain's history. */
async function fundRelayer(chain: Chain, relayer: Address): Promise<void> {
  const client = createRpcClients()(chain);
  if ((await client.getBalance({ address: relayer })) > parseEther("100")) return;
  const wallet = createWalletClient({ transport: http(chain.rpcUrls[0]) });
  const [first] = await wallet.getAddresses();
  if (!first) throw new Error(`the local chain ${chain.name} has no funded account`);
  const hash = await wallet.sendTransaction({ account: first, to: relayer, value: parseEther("1000"), chain: null });
  await client.waitForTransactionReceipt({ hash });
}

async function ensureFactory(
  chain: Chain,
  record: FactoryRecord | null,
  log: Logger,
): Promise<Required<FactoryRecord>> {
  const client = createRpcClients()(chain);
  const stands = async (address: Address | undefined) =>
    address !== undefined && (await client.getCode({ address })) !== undefined;
  const factory = record && (await stands(record.address)) ? record : await deployFactory(chain, log);
  const place = { address: factory.address, block: String(factory.block) };
  if (record?.operator && (await stands(record.operator.easyContract))) return { ...place, operator: record.operator };
  const { address, block, easyContract } = await deployOperatorAndEasy(chain, easyNames, log);
  return { ...place, operator: { address, block: String(block), easyContract } };
}

const easyNames = { name: "Mintyard Mints", symbol: "MINT" };
