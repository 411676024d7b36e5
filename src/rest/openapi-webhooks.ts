import * as z from "zod";
import { eventDescriptions, requestStates } from "../events/sample-event.ts";
import { address, hash, integer, type Json, jsonContent, jsonSchemaOf, type Members, text } from "./openapi-parts.ts";

const ofAll: Members = {
  id: text.describe("Id of the event, the same in every try and replay; skip an event whose id you have."),
  test: z.literal(true).describe("Present in an invented event, which you asked for: nothing happened.").optional(),
};
const ofOrder: Members = {
  ...ofAll,
  sequence: text.describe("Place in the order of all events of the installation, a whole number as text."),
};
const ofChain: Members = {
  ...ofOrder,
  chain: text.describe("Name of the chain."),
  chainId: integer.describe("Id of the chain (EIP-155)."),
};
const tokenId = text.describe("Id of the token in its contract, a whole number as text.");
const contract = address.describe("Address of the contract, in lower case.");

const movement: Members = {
  ...ofChain,
  blockNumber: text.describe("Number of the block, a whole number as text."),
  blockHash: hash.describe("Hash of the block."),
  blockTimestamp: text.nullable().describe("Time of the block (UTC); null where its seconds are no date."),
  finality: z.enum(["latest", "safe", "finalized"]).describe("How safe the block is, as the filter asked for."),
  kind: z.enum(["MINT", "TRANSFER", "BURN"]).describe("What it was: MINT, TRANSFER or BURN."),
  standard: z.enum(["ERC721", "ERC1155"]).describe("The token standard of the contract."),
  contract,
  tokenId,
  amount: text.describe("How many units moved, a whole number as text; 1 for ERC-721."),
  from: address.describe("Who held the token before; the zero address for a mint."),
  to: address.describe("Who holds the token after it; the zero address for a burn."),
  transactionHash: hash.describe("Hash of the transaction."),
  logIndex: integer.describe("Index of the log in its block."),
  batchIndex: integer.describe("Index in the log, where it has several tokens; 0 otherwise."),
};
const blocks: Members = {
  ...ofChain,
  from: text.describe("Number of the first block that is final now."),
  to: text.describe("Number of the last block that is final now."),
  hash: text.nullable().describe("Hash of the last one; null where it is not known."),
};
const reading: Members = {
  ...ofChain,
  contract,
  tokenId,
  blockNumber: text.nullable().describe("Number of the block that it was read at; null where it is not known."),
  errorCode: text.nullable().describe("Why it could not be read, such as http_404; null when it was."),
};
const request: Members = {
  ...ofChain,
  object: text.describe("Id of the request."),
  state: z.enum(requestStates).describe("State that it came to."),
  version: integer.describe("Counts the states that it came to: a smaller one is older."),
  holdReason: text.nullable().describe("Why it is held; null unless it is."),
  contract: address.nullable().describe("Address of its contract; null of a deployment that is not confirmed."),
};
const wallet: Members = {
  ...ofChain,
  wallet: address.describe("Address of the wallet."),
  state: text.describe("State that it came to, such as `paused_funds`."),
};

/** Members of `data` by event type. Families that are not listed are of requests, with one type for each state. */
const own: Readonly<Record<string, Members>> = {
  "nft.transfer": { ...movement, retracts: z.null().describe("Null: it takes nothing back.") },
  "nft.transfer.retracted": {
    ...movement,
    retracts: text.describe("Id of the event that is taken back; the other members repeat it."),
  },
  "chain.finalized": blocks,
  "metadata.updated": reading,
  "metadata.failed": reading,
  "webhook.test": { ...ofAll, message: text.describe("Says that the endpoint is reached.") },
  "webhook.verification": {
    ...ofAll,
    webhook: text.describe("Id of the endpoint; absent in an invented event.").optional(),
    challenge: text.describe("Answer with it, as text, to agree to messages."),
  },
  "wallet.low_balance": wallet,
  "wallet.halted": wallet,
  "index.stalled": ofChain,
};

/** The bodies posted to endpoints: the document's section `webhooks`, with one entry for each family of events. */
export function webhookBodies(): Json {
  return Object.fromEntries(
    Object.entries(eventDescriptions).map(([name, summary]) => {
      const type = own[name] ? z.literal(name) : z.enum(requestStates.map((state) => `${name}.${state}`));
      const body = z.object({
        type: type.describe(own[name] ? `Type of the event: \`${name}\`.` : "Type of the event: family and state."),
        timestamp: text.describe("When it was recorded (UTC)."),
        data: z.object(own[name] ?? request).describe("What happened."),
      });
      const requestBody = { required: true, ...jsonContent(jsonSchemaOf(body)) };
      const responses = {
        "2XX": { description: "It was received; any other answer is a failure and is tried again." },
      };
      return [name, { post: { summary, requestBody, responses } }];
    }),
  );
}
