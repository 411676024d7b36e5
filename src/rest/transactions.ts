import type { Context } from "hono";
import { getCollectionStatistics } from "../nfts/collection-statistics.ts";
import type { Services } from "../services.ts";
import type { Transfer } from "../transfers/list-transfers.ts";
import { type ListTransfersInput, listTransfers, type TransferWord } from "../transfers/list-transfers.ts";
import type { V0App, V0Env } from "./app.ts";
import { naiveMicros, naiveSeconds } from "./dates.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  pageParameters,
  queryOf,
  tokenIdParameter,
  wordsParameter,
} from "./query.ts";
import { okRead, RawJson } from "./raw-json.ts";

/** Words of a market, which no chain event of ours is; they are understood and match nothing. */
const marketWords = ["buy", "sell", "sale", "list", "make_bid", "get_bid"] as const;
const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", ...marketWords, "all"] as const;

export function addTransactions(app: V0App, services: Services): void {
  app.get("/transactions", async (c) =>
    answer(c, services, (input) => {
      const range = { fromBlock: blockParameter(input, "from_block"), toBlock: blockParameter(input, "to_block") };
      return {
        ...(range.fromBlock === undefined ? {} : { fromBlock: range.fromBlock }),
        ...(range.toBlock === undefined ? {} : { toBlock: range.toBlock }),
      };
    }),
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
    const input = Input.fromQuery(queryOf(c));
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
  const query = queryOf(c);
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const where = keyOf(input);
  const asked = wordsParameter(query, input, "type", words);
  const page = pageParameters(input);
  input.check();
  const all = asked.size === 0 || asked.has("all");
  const kinds = [...asked].filter((word): word is TransferWord => !isOther(word));
  const found = await listTransfers(services, c.get("caller"), {
    ...{ chain, page, ...where },
    ...(all ? {} : { kinds }),
  });
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
    // As a number, of any size.
    quantity: new RawJson(String(transfer.amount)),
    transaction_hash: transfer.transactionHash,
    block_hash: transfer.blockHash,
    block_number: Number(transfer.blockNumber),
    transaction_date: naiveSeconds(transfer.blockTimestamp),
  };
}

const periods = ["one_day", "seven_day", "thirty_day"];
/** Every member of the original, in its order; what only a market knows stays null. */
const unknownStatistics: Record<string, unknown> = Object.fromEntries(
  [
    ...periods.flatMap((period) => ["volume", "change", "sales", "average_price"].map((name) => `${period}_${name}`)),
    ...["total_volume", "total_sales", "total_supply", "total_minted", "num_owners", "average_price", "market_cap"],
    ...["floor_price", ...periods.map((period) => `floor_price_historic_${period}`), "updated_date"],
  ].map((name) => [name, null]),
);
