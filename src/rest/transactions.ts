import type { Context } from "hono";
import { getCollectionStatistics } from "../nfts/collection-statistics.ts";
import type { Services } from "../services.ts";
import {
  type ListTransfersInput,
  listTransfers,
  type Transfer,
  type TransferWord,
} from "../transfers/list-transfers.ts";
import { okRead, RawJson } from "./answer.ts";
import type { V0App, V0Env } from "./app.ts";
import type { Input } from "./input.ts";
import { statistics } from "./openapi-reads.ts";
import {
  addressParameter,
  chainParameter,
  pageParameters,
  queryInput,
  tokenIdParameter,
  wordsParameter,
} from "./query.ts";
import { naiveMicros, naiveSeconds } from "./values.ts";

/** Marketplace words, for which we have no chain event; they are accepted and match nothing. */
const marketWords = ["buy", "sell", "sale", "list", "make_bid", "get_bid"] as const;
const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", ...marketWords, "all"] as const;

export function addTransactions(app: V0App, services: Services): void {
  app.get("/transactions", async (c) =>
    answer(c, services, (input) => ({
      fromBlock: blockParameter(input, "from_block"),
      toBlock: blockParameter(input, "to_block"),
    })),
  );
  app.get("/transactions/accounts/:account_address", async (c) =>
    answer(c, services, (input) => ({
      account: addressParameter(input, "account_address", c.req.param("account_address")),
    })),
  );
  app.get("/transactions/nfts/:contract_address", async (c) =>
    answer(c, services, (input) => ({
      contract: addressParameter(input, "contract_address", c.req.param("contract_address")),
    })),
  );
  app.get("/transactions/nfts/:contract_address/:token_id", async (c) =>
    answer(c, services, (input) => ({
      contract: addressParameter(input, "contract_address", c.req.param("contract_address")),
      tokenId: tokenIdParameter(input, c.req.param("token_id")),
    })),
  );
  app.get("/transactions/stats/:contract_address", async (c) => {
    const input = queryInput(c);
    const chain = chainParameter(input, services.chains);
    const contract = addressParameter(input, "contract_address", c.req.param("contract_address"));
    input.check();
    const found = await getCollectionStatistics(services, c.get("caller"), { chain, contract });
    return okRead(c, {
      statistics: {
        ...unknownStatistics,
        total_supply: new RawJson(String(found.totalSupply)),
        total_minted: new RawJson(String(found.totalMinted)),
        num_owners: Number(found.ownerCount),
        updated_date: naiveMicros(found.computedAtMicros),
      },
    });
  });
}

async function answer(
  c: Context<V0Env>,
  services: Services,
  keyOf: (input: Input) => Pick<ListTransfersInput, "account" | "contract" | "tokenId" | "fromBlock" | "toBlock">,
): Promise<Response> {
  const input = queryInput(c);
  const chain = chainParameter(input, services.chains);
  const where = keyOf(input);
  const asked = wordsParameter(input, "type", words);
  const page = pageParameters(input);
  input.check();
  const all = asked.size === 0 || asked.has("all");
  const kinds = all ? undefined : [...asked].filter((word): word is TransferWord => !isOther(word));
  const found = await listTransfers(services, c.get("caller"), { chain, page, kinds, ...where });
  return okRead(c, {
    transactions: found.items.map(({ node }) => transactionBody(node)),
    continuation: found.continuation,
  });
}

function blockParameter(input: Input, name: string): bigint | undefined {
  const block = input.integer(name);
  if (block === undefined || (block >= 0n && block < 2n ** 63n)) return block;
  return input.fail("value_error", name, `${name} must be 0 or more`);
}

function isOther(word: string): boolean {
  return word === "all" || (marketWords as readonly string[]).includes(word);
}

function transactionBody(transfer: Transfer): Record<string, unknown> {
  const parties =
    transfer.kind === "transfer"
      ? { transfer_from: transfer.from, transfer_to: transfer.to }
      : { owner_address: transfer.kind === "mint" ? transfer.to : transfer.from };
  return {
    type: transfer.kind,
    ...parties,
    contract_address: transfer.contract,
    token_id: String(transfer.tokenId),
    // A JSON number of any size.
    quantity: new RawJson(String(transfer.amount)),
    transaction_hash: transfer.transactionHash,
    block_hash: transfer.blockHash,
    block_number: Number(transfer.blockNumber),
    transaction_date: naiveSeconds(transfer.blockTimestamp),
  };
}

/** Every member of the original, in its order; those that only a marketplace knows stay null. */
const unknownStatistics = Object.fromEntries(Object.keys(statistics.shape).map((name) => [name, null]));
