import { type Address, createWalletClient, type Hex, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Chain, defaultRelayPolicy, knownChains } from "../chains.ts";
import type { Logger } from "../log.ts";
import { deployFactory } from "../relay/deploy-factory.ts";
import { createRpcClients } from "../rpc/clients.ts";
import type { FactoryRecord, SetupCalls } from "./chain-setup.ts";
import type { LocalNode } from "./local-chain-process.ts";

/**
 * Puts a funded relayer and the collection factory on a local chain; what is there already stays.
 *
 * @param record of the factory that an earlier start deployed.
 */
export async function prepareLocalChain(
  { name, id, rpcUrl }: LocalNode,
  relayerKey: Hex,
  record: FactoryRecord | null,
  log: Logger,
): Promise<SetupCalls["prepare"]["answer"]> {
  const relayer = privateKeyToAccount(relayerKey).address;
  const chain = localChain(name, id, rpcUrl, relayerKey);
  await fundRelayer(chain, relayer);
  return { relayer, factory: await ensureFactory(chain, record, log) };
}

function localChain(name: string, id: number, rpcUrl: string, relayerKey: Hex): Chain {
  return {
    name,
    id,
    local: true,
    rpcUrls: [rpcUrl],
    explorerTxUrl: knownChains[name]?.explorerTxUrl ?? "",
    factory: null,
    relayerKey,
    relay: defaultRelayPolicy(id, true),
    confirmations: 1,
    startBlock: 0,
    indexScope: "all",
    verification: "proofs",
    requestsPerSecond: 0,
    paidTierOnly: false,
  };
}

/** A plain transfer from the node's first unlocked account, so that it is part of the chain's history. */
async function fundRelayer(chain: Chain, relayer: Address): Promise<void> {
  const client = createRpcClients()(chain);
  if ((await client.getBalance({ address: relayer })) > parseEther("100")) return;
  const wallet = createWalletClient({ transport: http(chain.rpcUrls[0]) });
  const [first] = await wallet.getAddresses();
  if (!first) throw new Error(`the local chain ${chain.name} has no funded account`);
  const hash = await wallet.sendTransaction({ account: first, to: relayer, value: parseEther("1000"), chain: null });
  await client.waitForTransactionReceipt({ hash });
}

async function ensureFactory(chain: Chain, record: FactoryRecord | null, log: Logger): Promise<FactoryRecord> {
  const client = createRpcClients()(chain);
  if (record && (await client.getCode({ address: record.address }))) return record;
  const { address, block } = await deployFactory(chain, log);
  return { address, block: String(block) };
}
