/**
 * The union views over the live chains' schemas: the index as readers see it. All are read-only here; the indexer's
 * launcher creates them. Addresses and hashes are raw bytes (Buffer), numeric columns (token ids, amounts) arrive as
 * decimal text, and bigint columns as bigint.
 */
export interface NftViews {
  "nft.transfers": TransferView;
  /** As `nft.transfers`, with the rows that it leaves out because their contract is an ERC-20. */
  "nft.transfer_rows": TransferView;
  "nft.tokens": TokenView;
  "nft.holdings": HoldingView;
  /** As `nft.holdings`, plus rows whose owner is null or whose amount is zero: filter them. Made for keyset pages. */
  "nft.holding_rows": Omit<HoldingView, "owner"> & {
    owner: Buffer | null;
    /** ERC-721 only; null for a holding of ERC-1155, where the token's row has them. */
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
  /** ERC-7572 ContractURIUpdated: the contract's own metadata has changed. */
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

/** One token transferred: a row per token id, also for ERC-1155 batches (`batch_index` counts within the log). */
export interface TransferView extends LogView {
  batch_index: number;
  block_hash: Buffer;
  tx_hash: Buffer;
  /** Sender of the transaction. */
  tx_from: Buffer;
  token_id: string;
  /** The zero address means a mint. */
  from_address: Buffer;
  /** The zero address means a burn. */
  to_address: Buffer;
  /** ERC-1155 operator; null for ERC-721. */
  operator: Buffer | null;
  amount: string;
  standard: Standard;
}

/** Every token ever seen, including burned ones (`supply` 0). Key: chain, contract, token id. */
interface TokenView {
  chain_id: number;
  contract: Buffer;
  token_id: string;
  standard: Standard;
  supply: string;
  /** Holder of a live ERC-721 token; null for a burned token and for ERC-1155. */
  owner: Buffer | null;
  /** Position of the first mint; null when the token was minted before the first indexed block. */
  mint_block: bigint | null;
  mint_log_index: number | null;
  mint_batch_index: number | null;
  mint_timestamp: bigint | null;
  mint_tx: Buffer | null;
  /** Sender of the minting transaction; in a product contract, the first owner. Null when the mint is unknown. */
  creator: Buffer | null;
  transfer_count: bigint;
  /** Position of the last ERC-721 transfer, by which the owner received it. */
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
  /** Tokens whose supply is above zero now. */
  token_count: bigint;
  /** Tokens ever seen. */
  token_count_ever: bigint;
  transfer_count: bigint;
}

/** A contract that this installation deployed for a client. */
interface DeployedView {
  chain_id: number;
  address: Buffer;
  /** At deployment. */
  owner: Buffer;
  intent_id: Buffer;
  block_number: bigint;
  block_hash: Buffer;
  block_timestamp: bigint;
  tx_hash: Buffer;
}

/** Collections that our factory created. */
type CollectionView = DeployedView & { factory: Buffer };

/** Contracts that an operator deployed for clients, to mint in; a token's owner at its mint is its creator. */
type ProductView = DeployedView & { operator: Buffer };

/** Number of holdings per owner and standard: account pages get their totals without counting. */
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

/** The last indexed block, per chain. */
interface HeadView {
  chain_id: number;
  block_number: bigint;
  /** Unix seconds. */
  block_timestamp: bigint;
}

/** ERC-20 contracts whose logs look like ERC-721's: no other view has their tokens and transfers. */
interface FungibleContractView {
  chain_id: number;
  contract: Buffer;
  /** Token ids below this one are left out; `Infinity`: all. 0: the contract turned out to be a collection. */
  below: string;
  /** Rows of `nft.transfer_rows` that are left out. */
  transfers: bigint;
}

/** Warnings about a contract (`inconsistent`, `undecodable`, `suspended`, `withheld`, `fungible`), counted. */
interface ContractFlagView {
  chain_id: number;
  contract: Buffer;
  flag: string;
  count: bigint;
}

/** A log that reported a range of two tokens or more (ERC-2309), both ends inclusive. Key: chain, block, log. */
interface TokenRangeView extends LogView {
  tx_hash: Buffer;
  tx_from: Buffer;
  from_token_id: string;
  to_token_id: string;
  from_address: Buffer;
  to_address: Buffer;
  tokens: bigint;
  /** Whether each of its tokens has a row; otherwise only those have that other logs moved. */
  listed: boolean;
}

/** A log of a known event that became no ledger row. */
interface RejectedLogView extends LogView {
  tx_hash: Buffer;
  event: string;
  reason: string;
}
