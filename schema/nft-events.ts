import { type AbiEvent, keccak256, stringToBytes } from "viem";

/**
 * The events that become ledger rows, as Ponder gets them.
 *
 * `inputs` is a getter that answers with fresh objects, because Ponder's decoder changes `type` of an
 * array parameter while it works and does not put it back when it throws: one malformed
 * `TransferBatch` would make it skip every later one of the process without a word.
 */
function fresh<const event extends AbiEvent>(event: event): event {
  const inputs = event.inputs;
  return Object.defineProperty({ ...event }, "inputs", {
    enumerable: true,
    get: () => inputs.map((input) => ({ ...input })),
  });
}

export const nftEvents = [
  fresh({
    // Shares its topic with ERC-20, which indexes two parameters only.
    type: "event",
    name: "Transfer",
    inputs: [
      { name: "from", type: "address", indexed: true },
      { name: "to", type: "address", indexed: true },
      { name: "tokenId", type: "uint256", indexed: true },
    ],
  }),
  fresh({
    type: "event",
    name: "TransferSingle",
    inputs: [
      { name: "operator", type: "address", indexed: true },
      { name: "from", type: "address", indexed: true },
      { name: "to", type: "address", indexed: true },
      { name: "id", type: "uint256", indexed: false },
      { name: "value", type: "uint256", indexed: false },
    ],
  }),
  fresh({
    type: "event",
    name: "TransferBatch",
    inputs: [
      { name: "operator", type: "address", indexed: true },
      { name: "from", type: "address", indexed: true },
      { name: "to", type: "address", indexed: true },
      { name: "ids", type: "uint256[]", indexed: false },
      { name: "values", type: "uint256[]", indexed: false },
    ],
  }),
  fresh({
    // ERC-2309
    type: "event",
    name: "ConsecutiveTransfer",
    inputs: [
      { name: "fromTokenId", type: "uint256", indexed: true },
      { name: "toTokenId", type: "uint256", indexed: false },
      { name: "fromAddress", type: "address", indexed: true },
      { name: "toAddress", type: "address", indexed: true },
    ],
  }),
  fresh({
    // ERC-4906
    type: "event",
    name: "MetadataUpdate",
    inputs: [{ name: "tokenId", type: "uint256", indexed: false }],
  }),
  fresh({
    type: "event",
    name: "BatchMetadataUpdate",
    inputs: [
      { name: "fromTokenId", type: "uint256", indexed: false },
      { name: "toTokenId", type: "uint256", indexed: false },
    ],
  }),
  fresh({
    // ERC-1155
    type: "event",
    name: "URI",
    inputs: [
      { name: "value", type: "string", indexed: false },
      { name: "id", type: "uint256", indexed: true },
    ],
  }),
  // ERC-7572
  fresh({ type: "event", name: "ContractURIUpdated", inputs: [] }),
  fresh({
    // The same as thirdweb's contracts have it.
    type: "event",
    name: "ContractURIUpdated",
    inputs: [
      { name: "prevURI", type: "string", indexed: false },
      { name: "newURI", type: "string", indexed: false },
    ],
  }),
] as const;

export const operatorEvents = [
  fresh({
    type: "event",
    name: "ProductDeployed",
    inputs: [
      { name: "intent", type: "bytes32", indexed: true },
      { name: "product", type: "address", indexed: true },
      { name: "owner", type: "address", indexed: true },
    ],
  }),
] as const;

/** The intent by which each operator deploys its contract of easy mints. No request has it: theirs have 16 bytes. */
export const easyIntent = keccak256(stringToBytes("easy mints"));

export const factoryEvents = [
  fresh({
    type: "event",
    name: "CollectionDeployed",
    inputs: [
      { name: "intentId", type: "bytes32", indexed: true },
      { name: "collection", type: "address", indexed: true },
      { name: "owner", type: "address", indexed: true },
    ],
  }),
] as const;
