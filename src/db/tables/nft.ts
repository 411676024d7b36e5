/**
 * The union views over the live chains' schemas: what readers see of the index. All are read-only
 * here; the indexer's launcher makes them. Addresses and hashes are raw bytes (Buffer); numeric
 * columns (token ids, amounts) arrive as decimal text, bigint columns as bigint.
 */
export interface NftViews {
  "nft.transfers": TransferView;
  /** As `nft.transfers`, with what is left out of it because its contract is of ERC-20. */
  "nft.transfer_rows": TransferView;
  "nft.tokens": TokenView;
  "nft.holdings": HoldingView;
  /** As `nft.holdings`, with rows whose owner is null or amount zero: filter them. Made for keyset pages. */
  "nft.holding_rows": Omit<HoldingView, "owner"> & {
    owner: Buffer | null;
    /** Of ERC-721 alone; null beside a holding of ERC-1155, whose token's row has them. */
    creator: Buffer | null;
    mint_timestamp: bigint | null;
  };
  "nft.contracts": ContractView;
  "nft.collections": CollectionView;
  "nft.products": ProductView;
  "nft.account_totals": AccountTotalView;
  "nft.contract_flags": ContractFlagView;
  "nft.fungible_contracts": FungibleContractView;
  "nft.rejected_logs": RejectedLogView;
  "nft.token_ranges": TokenRangeView;
  "nft.metadata_updates": MetadataUpdateView;
  /** ERC-7572 ContractURIUpdated: what the contract says of itself has changed. */
  "nft.contract_updates": LogView;
  "nft.heads": HeadView;
}

export type Standard = "ERC721" | "ERC1155";

/** A log of a contract. */
interface LogView {
  chain_id: number;
  block_number: bigint;
  log_index: number;
  /** Unix seconds. */
  block_timestamp: bigint;
  contract: Buffer;
}

/** One token moved: a row per token id, also for ERC-1155 batches (`batch_index` counts inside the log). */
export interface TransferView extends LogView {
  batch_index: number;
  block_hash: Buffer;
  tx_hash: Buffer;
  /** Sender of the transaction. */
  tx_from: Buffer;
  token_id: string;
  /** The zero address: a mint. */
  from_address: Buffer;
  /** The zero address: a burn. */
  to_address: Buffer;
  /** ERC-1155 operator; null for ERC-721. */
  operator: Buffer | null;
  amount: string;
  standard: Standard;
}

/** Every token that was ever seen, burned ones too (`supply` 0). Key: chain, contract, token id. */
interface TokenView {
  chain_id: number;
  contract: Buffer;
  token_id: string;
  standard: Standard;
  supply: string;
  /** Holder of a live ERC-721 token; null for a burned one and for ERC-1155. */
  owner: Buffer | null;
  /** Position of the first mint; null when the mint lies before the first indexed block. */
  mint_block: bigint | null;
  mint_log_index: number | null;
  mint_batch_index: number | null;
  mint_timestamp: bigint | null;
  mint_tx: Buffer | null;
  /** Sender of the minting transaction; in a product contract its first owner. Null where the mint is unknown. */
  creator: Buffer | null;
  transfer_count: bigint;
  /** Position of the last ERC-721 movement: how the owner came to it. */
  last_block: bigint | null;
  last_log_index: number | null;
  last_batch_index: number | null;
}

/** Positive balances only. Key: chain, contract, token id, owner. */
interface HoldingView {
  chain_id: number;
  contract: Buffer;
  token_id: string;
  owner: Buffer;
  amount: string;
  standard: Standard;
}

interface ContractView {
  chain_id: number;
  address: Buffer;
  standard: Standard;
  first_block: bigint;
  /** Tokens with a supply above zero now. */
  token_count: bigint;
  /** Tokens that were ever seen. */
  token_count_ever: bigint;
  transfer_count: bigint;
}

/** A contract that we deployed for a client. */
interface DeployedView {
  chain_id: number;
  address: Buffer;
  /** At the deployment. */
  owner: Buffer;
  intent_id: Buffer;
  block_number: bigint;
  block_hash: Buffer;
  block_timestamp: bigint;
  tx_hash: Buffer;
}

/** Collections that our factory created. */
type CollectionView = DeployedView & { factory: Buffer };

/** Contracts that an operator deployed for clients, to mint in them; their owner is the creator of their tokens. */
type ProductView = DeployedView & { operator: Buffer };

/** Number of holdings per owner and standard: the totals of account pages without counting. */
interface AccountTotalView {
  chain_id: number;
  owner: Buffer;
  standard: Standard;
  holding_count: bigint;
}

/** ERC-4906 MetadataUpdate and BatchMetadataUpdate, ERC-1155 URI: token ids from…to, both inclusive. */
interface MetadataUpdateView extends LogView {
  from_token_id: string;
  to_token_id: string;
}

/** The last block the index has taken in, per chain. */
interface HeadView {
  chain_id: number;
  block_number: bigint;
  /** Unix seconds. */
  block_timestamp: bigint;
}

/** Contracts of ERC-20 whose logs look like ERC-721's: their tokens and movements are in no other view. */
interface FungibleContractView {
  chain_id: number;
  contract: Buffer;
  /** Token ids below this one are left out; `Infinity`: all. 0: it turned out to be a collection. */
  below: string;
  /** Rows of `nft.transfer_rows` that are left out. */
  transfers: bigint;
}

/** Warnings about a contract (`inconsistent`, `undecodable`, `suspended`, `withheld`, `fungible`), and how often it happened. */
interface ContractFlagView {
  chain_id: number;
  contract: Buffer;
  flag: string;
  count: bigint;
}

/** A log that reported a range of two tokens or more (ERC-2309); both ends belong to it. Key: chain, block, log. */
interface TokenRangeView extends LogView {
  tx_hash: Buffer;
  tx_from: Buffer;
  from_token_id: string;
  to_token_id: string;
  from_address: Buffer;
  to_address: Buffer;
  tokens: bigint;
  /** Whether each token of it has rows; else only those that moved otherwise have. */
  listed: boolean;
}

/** A log of a known event that became no ledger row. */
interface RejectedLogView extends LogView {
  tx_hash: Buffer;
  event: string;
  reason: string;
}
