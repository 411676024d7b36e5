import { type Address, encodeFunctionData, type Hash, keccak256, stringToHex, zeroHash } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { toBytes, toHash, toHex } from "./bytes.ts";
import { calls, parseBlock, parseFeeHistory, parseHex, parseQuantity, parseReceipt } from "./chain-reads.ts";
import { freshFees } from "./fees.ts";
import { isFirstNonce } from "./first-nonce.ts";
import { intrinsicGas } from "./intrinsic-gas.ts";
import { listLanes, lockLane } from "./lanes.ts";
import { signChecked } from "./signer.ts";

const relayerRole = keccak256(stringToHex("RELAYER_ROLE"));

export interface Grant {
  wallet: Address;
  /** Null: it had the role already. */
  transactionHash: Hash | null;
}

/**
 * Gives every configured wallet of a chain the factory's relayer role, so that each of them is a lane.
 * The first wallet signs, at a nonce of its lane like everything it sends: the service may go on meanwhile.
 * Bytes of an earlier call that were never mined are sent again first.
 *
 * @param waitMs how long to wait for a block with each transaction.
 * @throws ServiceError `value_error` when the first wallet is not the factory's admin: then the admin has
 *   to sign, and the text names the call; `service_unavailable` while a transaction is not mined.
 */
export async function grantLanes(services: Services, chain: Chain, waitMs = 1_800_000): Promise<Grant[]> {
  const [first, ...more] = services.relay.signers(chain);
  const factory = chain.factory?.address;
  if (!first || !factory)
    throw new ServiceError("chain_not_supported", `${chain.name} has no factory or no wallet here`);
  for (const hash of await listOwn(services, chain, first.address)) await settle(services, chain, hash, waitMs);
  const grants: Grant[] = [];
  for (const { address: wallet } of more) {
    const granted = await hasRole(services, chain, factory, relayerRole, wallet);
    const transactionHash = granted ? null : await signGrant(services, chain, factory, wallet);
    if (transactionHash) await settle(services, chain, transactionHash, waitMs);
    grants.push({ wallet, transactionHash });
  }
  return grants;
}

async function hasRole(services: Services, chain: Chain, factory: Address, role: Hash, wallet: Address) {
  const data = encodeFunctionData({ abi: collectionFactoryAbi, functionName: "hasRole", args: [role, wallet] });
  const [answer] = await services.relay.nodes(chain).first((node) => node.ask([calls.call(factory, data, "latest")]));
  return BigInt(parseHex(answer, "a role")) === 1n;
}

/** Takes the lane's next nonce and stores the bytes in one transaction: nothing was sent before. */
async function signGrant(services: Services, chain: Chain, factory: Address, wallet: Address): Promise<Hash> {
  const signer = services.relay.account(chain);
  const data = encodeFunctionData({
    abi: collectionFactoryAbi,
    functionName: "grantRole",
    args: [relayerRole, wallet],
  });
  if (!(await hasRole(services, chain, factory, zeroHash, signer.address)))
    throw new ServiceError(
      "value_error",
      `${signer.address} is not the factory's admin; let the admin send ${data} to ${factory}`,
    );
  const [head, history, count, estimate] = await services.relay
    .nodes(chain)
    .first((node) =>
      node.ask([
        calls.block("latest"),
        calls.feeHistory(),
        calls.count(signer.address, "latest"),
        calls.estimate(signer.address, factory, data),
      ]),
    );
  const fees = freshFees(chain, parseFeeHistory(history));
  if (fees.maxFeePerGas > chain.relay.maxFeeWei)
    throw new ServiceError("service_unavailable", "the network's fees are over MAX_FEE_GWEI: try again later");
  const needed = parseQuantity(estimate, "an estimate");
  if (needed < intrinsicGas(data))
    throw new ServiceError("service_unavailable", "the node estimates less gas than any such transaction takes");
  const gas = (needed * 12n) / 10n;
  const sent = parseQuantity(count, "a count");
  const lanes = await listLanes(services.db, chain.id);
  if (
    !lanes.some(({ address }) => address === signer.address) &&
    !(await isFirstNonce(services, chain, signer.address, sent))
  )
    throw new ServiceError("service_unavailable", "the endpoints do not agree on the first wallet's transactions");
  const { genesisHash } = await services.relay.factory(chain);
  return await services.db.transaction().execute(async (transaction) => {
    const place = { chain_id: chain.id, addr: toBytes(signer.address) };
    const lane = await lockLane(transaction, chain.id, place.addr, sent, genesisHash);
    if (lane.state !== "open")
      throw new ServiceError("service_unavailable", `the first wallet's lane is ${lane.state}`);
    const nonce = lane.next_nonce;
    const call = { chainId: chain.id, to: factory, data, value: 0n, gas, ...fees };
    const { raw, hash } = await signChecked(signer, { type: "eip1559", ...call, nonce: Number(nonce) });
    await transaction
      .insertInto("service.slot")
      .values({ ...place, nonce, intent_id: null, kind: "noop" })
      .execute();
    await transaction
      .updateTable("service.lane")
      .set({ next_nonce: nonce + 1n })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", place.addr)
      .execute();
    await transaction
      .insertInto("service.attempt")
      .values({
        ...place,
        nonce,
        hash: toBytes(hash),
        kind: "noop",
        raw: toBytes(raw),
        max_fee: fees.maxFeePerGas,
        tip: fees.maxPriorityFeePerGas,
        gas,
        head_block: parseBlock(head).number,
      })
      .execute();
    return hash;
  });
}

/** Transactions of an operator's command that nobody has seen mined yet. */
async function listOwn(services: Services, chain: Chain, wallet: Address): Promise<Hash[]> {
  const rows = await services.db
    .selectFrom("service.slot as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .select("a.hash")
    .where("s.chain_id", "=", chain.id)
    .where("s.addr", "=", toBytes(wallet))
    .where("s.intent_id", "is", null)
    .where("s.state", "=", "open")
    .orderBy("s.nonce")
    .execute();
  return rows.map(({ hash }) => toHash(hash));
}

/** Sends stored bytes until they are as deep as a deployment has to be, and notes the block. */
async function settle(services: Services, chain: Chain, hash: Hash, waitMs: number): Promise<void> {
  const attempt = await services.db
    .selectFrom("service.attempt")
    .selectAll()
    .where("hash", "=", toBytes(hash))
    .executeTakeFirstOrThrow();
  const nodes = services.relay.nodes(chain);
  for (const end = performance.now() + waitMs; performance.now() < end; ) {
    for (const node of await nodes.all()) await node.ask([calls.send(toHex(attempt.raw))]).catch(() => undefined);
    const seen = await nodes
      .first(async (node) => {
        const [head, receipt] = await node.ask([calls.block("latest"), calls.receipt(hash)]);
        return { head: parseBlock(head).number, receipt: parseReceipt(receipt, hash) };
      })
      .catch(() => null);
    const receipt = seen?.receipt;
    if (receipt && seen.head - receipt.blockNumber + 1n >= BigInt(chain.confirmations)) {
      await services.db
        .updateTable("service.slot")
        .set({
          state: "mined",
          mined_block: receipt.blockNumber,
          mined_block_hash: toBytes(receipt.blockHash),
          mined_attempt: toBytes(hash),
          mined_cost_wei: receipt.gasUsed * receipt.effectiveGasPrice,
        })
        .where("chain_id", "=", attempt.chain_id)
        .where("addr", "=", attempt.addr)
        .where("nonce", "=", attempt.nonce)
        .execute();
      if (receipt.status !== 1n) throw new ServiceError("value_error", `the grant ${hash} reverted`);
      return;
    }
    await new Promise((done) => setTimeout(done, chain.local ? 200 : 2_000));
  }
  throw new ServiceError("service_unavailable", `${hash} is not mined yet; run the command again`);
}
