import { setTimeout as sleep } from "node:timers/promises";
import type { Address, Hash, Hex } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { Chain } from "../../chains.ts";
import { toBytes, toHash, toHex } from "../../db/bytes.ts";
import { ServiceError } from "../../errors/errors.ts";
import { askNode } from "../../rpc/nodes.ts";
import { calls, costOf, parseBlock, parseReceipt } from "../../rpc/reads.ts";
import { relayerRole } from "../../signing/rules.ts";
import type { RelayContext } from "../chain/context.ts";
import { factoryAdminRole, readRoles } from "../chain/roles.ts";
import { selectAttempts, updateNonce } from "../store/nonces.ts";
import { encodeGrant, signGrant } from "./sign-grant.ts";

interface Grant {
  wallet: Address;
  /** Null: it already had the role, or the factory's administrator granted it. */
  transactionHash: Hash | null;
}

/** The call that an administrator of the factory has to send where no wallet of this installation may. */
export interface AdminCall {
  wallet: Address;
  chainId: number;
  to: Address;
  data: Hex;
  value: 0n;
}

interface GrantOptions {
  /** When the command ends, by `performance.now()`. */
  deadline: number;
  /** Reports each step, as a sentence. */
  report(line: string): void;
  /** Receives the calls that an administrator has to send, and the known administrators. */
  askAdmin(calls: readonly AdminCall[], admins: readonly Address[]): void;
}

/** Some wallets had no role at the deadline. Running the command again continues from there. */
export class GrantUnfinished extends Error {
  override readonly name = "GrantUnfinished";
}

const reportAgainMs = 10_000;

/**
 * Grants every configured wallet of a chain the relayer role of the factory, and of the operator where there is one.
 * The first wallet that is an administrator of the factory signs, at a nonce reserved like all others, so the service
 * may go on meanwhile; bytes of an earlier call that were never mined are sent again. Where no wallet is an
 * administrator, it reports the calls that the administrator has to send, and waits for them.
 *
 * @throws ServiceError `value_error` when a grant reverted; `service_unavailable` when nothing can be signed now.
 * @throws GrantUnfinished when at the deadline a wallet has no role, or a grant lacks confirmations.
 */
export async function grantWallets(services: RelayContext, chain: Chain, options: GrantOptions): Promise<Grant[]> {
  if (services.relay.signers(chain).length === 0 || !chain.factory)
    throw new ServiceError("chain_not_supported", `${chain.name} has no factory or no wallet here`);
  const ofFactory = await grantOn(services, chain, chain.factory, options);
  const ofOperator = chain.operator ? await grantOn(services, chain, chain.operator, options) : [];
  services.relay.forgetRoles(chain);
  return ofFactory.map((grant) => ({
    ...grant,
    transactionHash:
      grant.transactionHash ?? ofOperator.find(({ wallet }) => wallet === grant.wallet)?.transactionHash ?? null,
  }));
}

/** The same on one contract: the factory, or the operator of product contracts, which has the same roles. */
async function grantOn(
  services: RelayContext,
  chain: Chain,
  contract: { address: Address; block: bigint },
  options: GrantOptions,
): Promise<Grant[]> {
  const signers = services.relay.signers(chain);
  const wallets = signers.map(({ address }) => address.toLowerCase() as Address);
  const factory = contract.address;
  const read = (role: Hash, of: readonly Address[]) =>
    askNode(chain, () => readRoles(services.relay.nodes(chain), factory, role, of));
  const open = await listOwnGrants(services, chain, wallets);
  // Grants signed earlier may give the role; those in no block yet are awaited first.
  if (open.length > 0) await follow(services, chain, open, async () => [], options);
  const held = await read(relayerRole, wallets);
  const missing = wallets.filter((_, index) => !held[index]);
  const mayGrant = missing.length > 0 ? await read(factoryAdminRole, wallets) : [];
  const signer = signers[mayGrant.indexOf(true)];
  const hashes = new Map<Address, Hash>();
  for (const wallet of signer ? missing : []) {
    if (!signer) break;
    const hash = await signGrant(services, chain, { signer, factory, wallet });
    hashes.set(wallet, hash);
    options.report(`${signer.address} grants ${wallet} the relayer role in ${hash}`);
  }
  if (missing.length > 0 && !signer) {
    const asked = missing.map((wallet) => ({
      wallet,
      chainId: chain.id,
      to: factory,
      data: encodeGrant(wallet),
      value: 0n as const,
    }));
    options.askAdmin(asked, await findAdmins(services, chain, contract));
  }
  const without = async () => {
    const roles = missing.length > 0 ? await read(relayerRole, missing) : [];
    return missing.filter((_, index) => !roles[index]);
  };
  await follow(services, chain, [...hashes.values()], without, options);
  return wallets.map((wallet) => ({ wallet, transactionHash: hashes.get(wallet) ?? null }));
}

/** Waits until all transactions have their confirmations and all wallets have the role. */
async function follow(
  services: RelayContext,
  chain: Chain,
  hashes: readonly Hash[],
  without: () => Promise<readonly Address[]>,
  { deadline, report }: GrantOptions,
): Promise<void> {
  const open = new Set(hashes);
  let reported = { text: "", at: Number.NEGATIVE_INFINITY };
  let waiting = "the chain's answer";
  const poll = async (): Promise<boolean> => {
    const lines: string[] = [];
    for (const hash of open) {
      const progress = await confirmGrant(services, chain, hash);
      if (progress.kind === "confirmed") open.delete(hash);
      else if (progress.kind === "sent") lines.push(`${hash} is in no block yet`);
      else lines.push(`${hash} has ${progress.depth} of ${chain.confirmations} confirmations`);
    }
    const missing = await without().catch((error: unknown) => {
      // A temporary outage of an endpoint does not end the wait.
      if (!(error instanceof ServiceError) || !error.retryable) throw error;
      lines.push(error.message);
      return [];
    });
    if (open.size === 0) lines.push(...missing.map((wallet) => `${wallet} has no relayer role yet`));
    waiting = lines.join("; ");
    return lines.length === 0;
  };
  for (;;) {
    // A poll may hang at an endpoint that does not answer; the command still ends at its deadline.
    const end = new AbortController();
    const polling = poll();
    polling.catch(() => undefined);
    const leftMs = Math.max(deadline - performance.now(), 0);
    const over = sleep(leftMs, "over" as const, { signal: end.signal }).catch(() => "over" as const);
    const done = await Promise.race([polling, over]).finally(() => end.abort());
    if (done === true) return;
    const left = Math.ceil((deadline - performance.now()) / 1_000);
    if (done === "over" || left <= 0)
      throw new GrantUnfinished(`not finished on ${chain.name} in time (${waiting}); run the command again to go on`);
    if (waiting !== reported.text || performance.now() - reported.at >= reportAgainMs) {
      reported = { text: waiting, at: performance.now() };
      report(`${waiting}; waiting up to ${left} s more`);
    }
    await sleep(Math.min(chain.local ? 200 : 2_000, Math.max(deadline - performance.now(), 0)));
  }
}

/** All who were made administrator of the factory and still are; none where the endpoint lists no old events. */
async function findAdmins(
  services: RelayContext,
  chain: Chain,
  { address: factory, block }: { address: Address; block: bigint },
): Promise<Address[]> {
  try {
    const logs = await services.rpc(chain).getContractEvents({
      address: factory,
      abi: collectionFactoryAbi,
      eventName: "RoleGranted",
      args: { role: factoryAdminRole },
      fromBlock: block,
      strict: true,
    });
    const named = [...new Set(logs.map(({ args }) => args.account.toLowerCase() as Address))].slice(0, 20);
    const held = await readRoles(services.relay.nodes(chain), factory, factoryAdminRole, named);
    return named.filter((_, index) => held[index]);
  } catch {
    return [];
  }
}

/** Grants that a command signed and that were not seen in a block yet. */
async function listOwnGrants(services: RelayContext, chain: Chain, wallets: readonly Address[]): Promise<Hash[]> {
  const rows = await selectAttempts(services.db)
    .select("a.hash")
    .where("s.chain_id", "=", chain.id)
    .where("s.addr", "in", wallets.map(toBytes))
    .where("s.intent_id", "is", null)
    .where("s.found", "=", false)
    .where("s.state", "=", "open")
    .orderBy("s.nonce")
    .execute();
  return rows.map(({ hash }) => toHash(hash));
}

/** The progress of a grant. */
type GrantProgress =
  | { kind: "confirmed" }
  | { kind: "mined"; block: bigint; depth: bigint }
  /** In no block that an endpoint shows. */
  | { kind: "sent" };

/**
 * Sends the stored bytes of a grant again and checks whether it has the confirmations that a deployment needs; then its
 * block is recorded.
 *
 * @throws ServiceError `value_error` when the factory refused it.
 */
async function confirmGrant(services: RelayContext, chain: Chain, hash: Hash): Promise<GrantProgress> {
  const attempt = await services.db
    .selectFrom("service.attempt")
    .selectAll()
    .where("hash", "=", toBytes(hash))
    .executeTakeFirstOrThrow();
  const nodes = services.relay.nodes(chain);
  // Answers decide nothing: a node that already has the transaction returns an error.
  for (const node of await nodes.all()) await node.ask([calls.send(toHex(attempt.raw))]).catch(() => undefined);
  const seen = await nodes
    .first(async (node) => {
      const [head, receipt] = await node.ask([calls.block("latest"), calls.receipt(hash)]);
      return { head: parseBlock(head).number, receipt: parseReceipt(receipt, hash) };
    })
    .catch(() => null);
  const receipt = seen?.receipt;
  if (!receipt) return { kind: "sent" };
  const depth = seen.head - receipt.blockNumber + 1n;
  if (depth < BigInt(chain.confirmations)) return { kind: "mined", block: receipt.blockNumber, depth };
  await updateNonce(services.db, attempt)
    .set({
      state: "mined",
      mined_block: receipt.blockNumber,
      mined_block_hash: toBytes(receipt.blockHash),
      mined_attempt: toBytes(hash),
      mined_cost_wei: costOf(receipt, attempt.max_fee),
    })
    .execute();
  if (receipt.status !== 1n) throw new ServiceError("value_error", `the grant ${hash} reverted`);
  return { kind: "confirmed" };
}
