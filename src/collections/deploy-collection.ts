import { createHash, randomUUID } from "node:crypto";
import type { Address, Hex } from "viem";
import { collectionSalt, encodeInitData, predictCollection } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { acceptIntent } from "../relay/accept-intent.ts";
import { planReservation } from "../relay/budget.ts";
import { intentName } from "../relay/encode-deploy.ts";
import type { Intent } from "../relay/intents.ts";
import { untilSigned } from "../relay/until-signed.ts";
import type { Services } from "../services.ts";
import { type CheckedDeployment, checkDeployment } from "./check-deployment.ts";
import { type Deployment, getDeployment } from "./get-deployment.ts";

/** Addresses are `0x` and 40 hex digits in any case; they are answered as they were sent. */
export interface DeployCollectionInput {
  /** As sent, aliases allowed. */
  chain: string;
  name: string;
  symbol: string;
  maxSupply: bigint;
  /** Part of the supply that only an admin mints; default 0. */
  reservedSupply?: bigint | undefined;
  tokensPerMint: bigint;
  mintPriceWei: bigint;
  /** Default: the mint price. */
  presaleMintPriceWei?: bigint | undefined;
  ownerAddress: string;
  treasuryAddress: string;
  publicMintStart: Date;
  /** Absent: no presale. */
  presaleMintStart?: Date | undefined;
  allowlist?: readonly string[] | undefined;
  /** Default true. */
  metadataUpdatable?: boolean | undefined;
  /** Empty or absent: not revealed yet. */
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  /** Default 0. */
  royaltiesBps?: bigint | undefined;
  /** Default: the owner. */
  royaltiesAddress?: string | undefined;
  /** The service's wallet becomes an admin of the collection, for reveals and updates. Default true. */
  grantServiceAdmin?: boolean | undefined;
  /** Requests with one key are one deployment, for ever. */
  idempotencyKey?: string | undefined;
}

export interface DeployCollectionResult {
  deployment: Deployment & { transactionHash: Hex };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
  warnings: string[];
}

/**
 * Deploys a collection: the request becomes durable, gets its nonce, is signed and stored, and only then
 * answered with its hash; the relay drives it to an end whatever happens to this process.
 *
 * @throws ServiceError the input's faults; `service_unavailable` when it could not be signed within ten
 *   seconds: it stays queued, and the same request asks for it again.
 */
export async function deployCollection(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeployCollectionResult> {
  const checked = checkDeployment(services, caller, input);
  const intent = await acceptDeployment(services, caller, input.idempotencyKey, checked);
  await untilSigned(services, checked.chain, intent);
  const deployment = await getDeployment(services, caller, { id: intent.id });
  const { transactionHash } = deployment;
  if (!transactionHash) throw new Error(`intent ${intent.id} is ${deployment.state} without a hash`);
  return {
    deployment: { ...deployment, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
    warnings: checked.warnings,
  };
}

/** The first stage: the request is on disk, with the one address it can end at; nothing was signed. */
export async function acceptDeployment(
  services: Services,
  caller: Caller,
  idempotencyKey: string | undefined,
  { chain, payload, allowlist }: CheckedDeployment,
): Promise<Intent> {
  const { address: factory, template } = await services.relay.factory(chain);
  const id = randomUUID();
  const owner = lowerCase(payload.ownerAddress);
  const initData = encodeInitData(
    {
      name: payload.name,
      symbol: payload.symbol,
      owner,
      maxSupply: BigInt(payload.maxSupply),
      reservedSupply: BigInt(payload.reservedSupply),
      tokensPerMint: BigInt(payload.tokensPerMint),
      treasuryAddress: lowerCase(payload.treasuryAddress),
    },
    {
      baseURI: payload.baseUri,
      metadataUpdatable: payload.metadataUpdatable,
      publicMintPrice: BigInt(payload.publicMintPriceWei),
      // Prices are promised not to change (service.md), so the chain is told too.
      publicMintPriceFrozen: true,
      presaleMintPrice: BigInt(payload.presaleMintPriceWei),
      presaleMintPriceFrozen: true,
      publicMintStart: BigInt(payload.publicMintStart),
      presaleMintStart: BigInt(payload.presaleMintStart),
      prerevealTokenURI: payload.prerevealTokenUri,
      presaleMerkleRoot: allowlist.root,
      royaltiesBps: BigInt(payload.royaltiesBps),
      royaltiesAddress: lowerCase(payload.royaltiesAddress),
    },
    payload.grantServiceAdmin,
  );
  const intentId = intentName(id);
  return await acceptIntent(services.db, {
    id,
    tenantId: caller.accountId,
    idempotencyKey: checkKey(idempotencyKey),
    requestHash: hashRequest(chain, initData),
    chainId: chain.id,
    kind: "deploy",
    payload,
    allowlist,
    factory,
    template,
    owner,
    initData,
    salt: collectionSalt(intentId, owner, initData),
    reservation: planReservation(services, chain, {
      tenantId: caller.accountId,
      kind: "deploy",
      bytes: initData.length / 2,
    }),
    predicted: predictCollection({ factory, template, intentId, owner, initData }),
  });
}

/** Everything a request asks for is in the bytes for the chain, and there in one spelling only. */
function hashRequest(chain: Chain, initData: Hex): Buffer {
  return createHash("sha256").update(`deploy ${chain.id} ${initData}`).digest();
}

function checkKey(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new ServiceError("value_error", "an Idempotency-Key is 1 to 200 visible ASCII characters", {
    field: "idempotencyKey",
  });
}

function lowerCase(address: string): Address {
  return address.toLowerCase() as Address;
}
