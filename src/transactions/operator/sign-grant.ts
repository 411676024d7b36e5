import { type Address, encodeFunctionData, formatEther, type Hash } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import { ServiceError } from "../../errors/errors.ts";
import { askNode } from "../../rpc/nodes.ts";
import { calls, parseQuantity } from "../../rpc/reads.ts";
import { relayerRole } from "../../signing/rules.ts";
import { type Signer, signChecked } from "../../signing/signer.ts";
import type { RelayContext } from "../chain/context.ts";
import { freshFees, intrinsicGas } from "../chain/fees.ts";
import { askMarket, dataFee, isLegacy } from "../chain/market.ts";
import { isFirstNonce } from "../chain/pending-nonces.ts";
import { listWallets, lockWallet, updateWallet } from "../store/wallets.ts";
import { reconcileNonces } from "../submit/reconcile-nonces.ts";

/** The call by which an administrator of the factory allows a wallet to deploy. */
export function encodeGrant(wallet: Address) {
  return encodeFunctionData({ abi: collectionFactoryAbi, functionName: "grantRole", args: [relayerRole, wallet] });
}

/**
 * Signs the grant of the relayer role with an administrator's wallet. In one transaction it takes that wallet's next
 * nonce and stores the bytes; nothing is sent before that.
 *
 * @throws ServiceError `service_unavailable` when the wallet cannot pay for it, or assigns no nonce now.
 */
export async function signGrant(
  services: RelayContext,
  chain: Chain,
  { signer, factory, wallet }: { signer: Signer; factory: Address; wallet: Address },
): Promise<Hash> {
  const data = encodeGrant(wallet);
  const { market, answers } = await askNode(chain, () =>
    services.relay
      .nodes(chain)
      .first((node) =>
        askMarket(node, chain, [
          calls.count(signer.address, "latest"),
          calls.balance(signer.address),
          calls.estimate(signer.address, factory, data),
        ]),
      ),
  );
  const [count, balance, estimate] = answers;
  const fees = freshFees(chain, market);
  if (fees.maxFeePerGas > chain.relay.maxFeeWei)
    throw new ServiceError("service_unavailable", "the network's fees are over MAX_FEE_GWEI: try again later");
  const needed = parseQuantity(estimate, "an estimate");
  if (needed < intrinsicGas(data))
    throw new ServiceError("service_unavailable", "the node estimates less gas than any such transaction takes");
  const gas = (needed * 12n) / 10n;
  const held = parseQuantity(balance, "a balance");
  const dataWei = dataFee(market, data);
  const most = gas * fees.maxFeePerGas + dataWei;
  // A nonce whose transaction cannot be paid for would keep all later ones waiting.
  if (held < most)
    throw new ServiceError(
      "service_unavailable",
      `${signer.address} holds ${formatEther(held)} on ${chain.name}, and the grant may take ` +
        `${formatEther(most)}: send it funds, and run the command again`,
    );
  const sent = parseQuantity(count, "a count");
  const stored = await listWallets(services.db, chain.id);
  if (
    !stored.some(({ address }) => address === signer.address.toLowerCase()) &&
    !(await isFirstNonce(services, chain, signer.address, sent))
  )
    throw new ServiceError(
      "service_unavailable",
      `the endpoints do not agree on the transactions of ${signer.address}`,
    );
  const unclear = await reconcileNonces(services, chain, signer.address);
  if (unclear) throw new ServiceError("service_unavailable", unclear.reason);
  const { genesisHash } = await services.relay.factory(chain);
  return await services.db.transaction().execute(async (transaction) => {
    const key = { chain_id: chain.id, addr: toBytes(signer.address) };
    const walletRow = await lockWallet(transaction, chain.id, key.addr, sent, genesisHash);
    if (walletRow.state !== "open")
      throw new ServiceError(
        "service_unavailable",
        `the wallet ${signer.address} is ${walletRow.state} and signs nothing; docs/relayer.md says what opens it`,
      );
    const nonce = walletRow.next_nonce;
    const call = {
      chainId: chain.id,
      to: factory,
      data,
      value: 0n,
      gas,
      ...fees,
      ...(isLegacy(chain) ? { legacy: true } : {}),
    };
    const order = { kind: "grant", transaction: { ...call, nonce: Number(nonce) } } as const;
    const { raw, hash } = await signChecked(signer, order);
    await transaction
      .insertInto("service.nonce_reservation")
      .values({ ...key, nonce, intent_id: null, kind: "cancellation" })
      .execute();
    await updateWallet(transaction, { chain_id: chain.id, addr: key.addr })
      .set({ next_nonce: nonce + 1n })
      .execute();
    await transaction
      .insertInto("service.attempt")
      .values({
        ...key,
        nonce,
        hash: toBytes(hash),
        kind: "cancellation",
        raw: toBytes(raw),
        max_fee: fees.maxFeePerGas,
        tip: fees.maxPriorityFeePerGas,
        gas,
        data_wei: dataWei,
        head_block: market.block.number,
      })
      .execute();
    return hash;
  });
}
