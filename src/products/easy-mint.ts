import { sql } from "kysely";
import { parseAbi } from "viem";
import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { chain, type InputOf, text } from "../requests/fields.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { requireOperator } from "../transactions/chain/context.ts";
import type { Operation } from "./carry-out.ts";
import { checkMint, mintFields, pinnedMetadata } from "./check-tokens.ts";
import { findOperatedChain, type Product } from "./find-product.ts";
import { mintOperation } from "./mint-tokens.ts";
import { isMinted } from "./read-token.ts";

/** The members of an easy mint, except its file. */
export const easyFields = {
  chain,
  name: text({ required: true, doc: "The name of the token, not empty." }),
  description: text({ required: true, emptyIsText: true, doc: "The description of the token; may be empty." }),
  to: mintFields.to,
};

/** The same with a link to the file. */
export const easyUrlFields = {
  ...easyFields,
  fileUrl: text({ required: true, doc: "The URL of the file. It becomes `image` of the metadata." }),
};
type EasyMintInput = InputOf<typeof easyUrlFields> & { idempotencyKey?: string | undefined };

/**
 * Mints in the service's own ERC-721 contract: name, description and file become a pinned metadata document, and a
 * token gets the next id.
 *
 * @throws ServiceError `chain_not_supported` where the installation has no such contract; the input's faults.
 */
export function easyMint(services: Services, caller: Caller, input: EasyMintInput): Operation {
  const product = findEasyContract(services, caller, input.chain);
  const { name, description, fileUrl } = input;
  const problems = new Problems();
  for (const [field, text] of Object.entries({ name, fileUrl }))
    if (text.trim() === "") problems.add("parameter_missing", field, `${field} is missing`);
  for (const [field, text] of Object.entries({ name, description, fileUrl }))
    if (!text.isWellFormed()) problems.add("value_error", field, `${field} holds half of a character`);
  problems.check();
  const { uri, store } = pinnedMetadata(services, caller, {
    ...{ name, description, fileUrl },
    ...{ externalUrl: null, animationUrl: null, attributes: null, customFields: null },
  });
  const tokens = checkMint(product, [{ to: input.to, uri }]);
  const mint = mintOperation(services, caller, product, tokens, input.idempotencyKey, {
    easy: { payload: { name, description, fileUrl }, drawId: async () => String(await drawId(services, product)) },
  });
  return { ...mint, store };
}

/** The contract of easy mints on a chain, which belongs to the service alone. @throws as `easyMint`. */
export function findEasyContract(services: Services, caller: Caller, chainName: string): Product {
  const chain = findOperatedChain(services, caller, chainName);
  const { easyContract: address, address: operator } = requireOperator(chain).operator;
  if (!address)
    throw new ServiceError(
      "chain_not_supported",
      `easy mints are not set up on ${chain.name} here: the operator has not set EASY_CONTRACT_${chain.name.toUpperCase()}`,
      { field: "chain" },
    );
  const deployedOwner = services.relay.account(chain).address;
  return { chain, address, asSent: address, type: "erc721", deployedOwner, operator };
}

const abi = parseAbi(["function totalSupply() view returns (uint256)"]);
/** Maximum numbers drawn until one is free: the counter may have gone back with a restored database. */
const mostDraws = 100;

/**
 * Draws the next id, counted from 1 and above the contract's number of tokens. The number of a failed request is
 * skipped, and a taken one is drawn again.
 */
async function drawId(services: Services, product: Product): Promise<bigint> {
  const { chain, address } = product;
  const question = { address, abi, functionName: "totalSupply" } as const;
  const total = await askNode(chain, () => services.rpc(chain).readContract(question));
  for (let draws = 0; draws < mostDraws; draws += 1) {
    const { rows } = await sql<{ last_id: bigint; claimed: boolean }>`
      WITH drawn AS (
        INSERT INTO service.easy_counter AS c (chain_id, contract, last_id)
        VALUES (${chain.id}, ${toBytes(address)}, ${total + 1n})
        ON CONFLICT (chain_id, contract) DO UPDATE SET last_id = greatest(c.last_id + 1, ${total + 1n}) RETURNING *)
      SELECT last_id, EXISTS (SELECT FROM service.token_claim t WHERE (t.chain_id, t.contract) = (d.chain_id, d.contract)
        AND t.token_id = d.last_id) AS claimed FROM drawn d`.execute(services.db);
    const [row] = rows;
    if (!row) throw new Error("no number was drawn");
    if (!row.claimed && !(await isMinted(services, product, row.last_id))) return row.last_id;
  }
  throw new ServiceError("service_unavailable", "the ids of easy mints are being counted anew", {
    retryAfterSeconds: 1,
  });
}
