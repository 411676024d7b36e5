import * as z from "zod";
import { eventDescriptions, requestStates } from "../events/sample-event.ts";
import { address, hash, integer, type Json, jsonContent, jsonSchemaOf, type Members, text } from "./openapi-parts.ts";

const ofAll: Members = {
  id: text.describe("Id of the event, the same in every attempt and replay. Skip an event whose id you already have."),
  test: z.literal(true).describe("Only in a test event, which you requested: nothing happened.").optional(),
};
const ofOrder: Members = {
  ...ofAll,
  sequence: text.describe("Sequence number of the event among all events of the installation, an integer as a string."),
};
const ofChain: Members = {
  ...ofOrder,
  chain: text.describe("Name of the chain."),
  chainId: integer.describe("Chain id (EIP-155)."),
};
const tokenId = text.describe("Id of the token in its contract, an integer as a string.");
const contract = address.describe("Address of the contract, in lower case.");

const movement: Members = {
  ...ofChain,
  blockNumber: text.describe("Number of the block, an integer as a string."),
  blockHash: hash.describe("Hash of the block."),
  blockTimestamp: text.nullable().describe("Time of the block (UTC); null if its timestamp is not a valid date."),
  finality: z.enum(["latest", "safe", "finalized"]).describe("Finality of the block, as the filter requested."),
  kind: z.enum(["MINT", "TRANSFER", "BURN"]).describe("The kind of the transfer: MINT, TRANSFER or BURN."),
  standard: z.enum(["ERC721", "ERC1155"]).describe("The token standard of the contract."),
  contract,
  tokenId,
  amount: text.describe("Number of units transferred, an integer as a string; 1 for ERC-721."),
  from: address.describe("The previous owner; the zero address for a mint."),
  to: address.describe("The new owner; the zero address for a burn."),
  transactionHash: hash.describe("Hash of the transaction."),
  logIndex: integer.describe("Index of the log in its block."),
  batchIndex: integer.describe("Index within the log if it transfers several tokens; 0 otherwise."),
};
const blocks: Members = {
  ...ofChain,
  from: text.describe("Number of the first of these blocks."),
  to: text.describe("Number of the last of these blocks."),
  hash: text.nullable().describe("Hash of the last of these blocks; null if it is not known."),
};
const reading: Members = {
  ...ofChain,
  contract,
  tokenId,
  blockNumber: text.nullable().describe("Number of the block at which the metadata was read; null if it is not known."),
  errorCode: text.nullable().describe("Why the metadata could not be read, such as http_404; null if it was read."),
};
const request: Members = {
  ...ofChain,
  object: text.describe("Id of the request."),
  state: z.enum(requestStates).describe("The new state of the request."),
  version: integer.describe("Number of state changes so far; an event with a smaller number is older."),
  holdReason: text.nullable().describe("Why the request does not proceed; null if nothing holds it up."),
  contract: address
    .nullable()
    .describe("Address of the request's contract; null for a deployment that is not confirmed."),
};
const wallet: Members = {
  ...ofChain,
  wallet: address.describe("Address of the wallet."),
  state: text.describe("The new state of the wallet, such as `paused_funds`."),
};

/** Members of `data` by event type. Families that are not listed are of requests, with one type for each state. */
const own: Readonly<Record<string, Members>> = {
  "nft.transfer": { ...movement, retracts: z.null().describe("Always null: this event retracts no other.") },
  "nft.transfer.retracted": {
    ...movement,
    retracts: text.describe("Id of the retracted event; the other members repeat it."),
  },
  "chain.finalized": blocks,
  "metadata.updated": reading,
  "metadata.failed": reading,
  "webhook.test": { ...ofAll, message: text.describe("A message that confirms that the endpoint is reached.") },
  "webhook.verification": {
    ...ofAll,
    webhook: text.describe("Id of the endpoint; absent in a test event.").optional(),
    challenge: text.describe("Answer with this text to agree to receive messages."),
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
        timestamp: text.describe("When the event was recorded (UTC)."),
        data: z.object(own[name] ?? request).describe("The data of the event."),
      });
      const requestBody = { required: true, ...jsonContent(jsonSchemaOf(body)) };
      const responses = {
        "2XX": {
          description: "The message was received. Any other answer is a failure, and the message is sent again.",
        },
      };
      return [name, { post: { summary, requestBody, responses } }];
    }),
  );
}
