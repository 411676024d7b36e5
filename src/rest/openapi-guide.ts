/* The OpenAPI document's description of each operation, by task. A test fails for operations that are missing here. */

/** What a repeated request is, and its answer. */
const sameForTenMinutes =
  "A repeated request (the same body within ten minutes, or the same header `Idempotency-Key` at any time) has no second effect and returns the same hash.";
const isTransaction =
  "Requires the scope `deploy`. Counts as a deploy request, and as one transaction of the plan's day and month per 500,000 gas or part of it.";
const isAction =
  "Requires the scope `deploy`. Counts as a deploy request; each token counts towards the plan's `max_mints` on the chain, and a request that uses much gas counts as more.";
const upload = "Requires the scope `upload`. Counts as one upload";
const admin = "Requires the scope `admin`. Counts as a deploy request.";
const twoReads = "Counts as one read of the month, and as two reads in the per-second limit";
const oneRead =
  "Counts as one read. In the per-second limit, a page number beyond 10,000 items counts as more; a `continuation` never does.";

interface Task {
  about: string;
  /** By method and path: what the operation does, how it is counted, and what is special about it. */
  operations: Readonly<Record<string, string>>;
}

/** The document's tags, in order. */
export const tasks: Readonly<Record<string, Task>> = {
  "Files and metadata": {
    about: "Store files and token metadata on IPFS, and list the account's uploads.",
    operations: {
      "post /v0/files": `Stores one file, sent as the part \`file\` of a form (\`curl -F file=@key.png\`). Its bytes are on disk when the answer is sent. ${upload}; the same bytes have the same CID and use storage once.`,
      "post /v0/metadata": `Builds one metadata document of up to 1 MiB from the members and stores it; unknown members are ignored. ${upload}; the same members in the same order have the same CID.`,
      "post /v0/metadata/directory": `Validates and stores a whole folder, with one part \`metadata_files\` per JSON file (\`curl -F metadata_files=@0.json\`). Each file is linked under its name with and without the extension. If any file has an error, the folder is refused and the answer lists all errors. The limits are 25,000 files, 50 MiB in total and 1 MiB per file unless the operator set others. ${upload} per 250 files or MiB, also in a dry run.`,
      "get /v0/me/storage": "Lists the account's uploads by page, newest first. Counts as one read.",
    },
  },
  Collections: {
    about: "Deploy, change and look up ERC-721 collections that sell their tokens.",
    operations: {
      "post /v0/contracts/collections": `Deploys a collection at the service's cost; \`GET /v0/contracts/{transaction_hash}\` returns its address once it is confirmed. Requests with the same \`Idempotency-Key\` are one deployment, at any time; without a key, identical requests are one until ten minutes after the confirmation. ${isTransaction} A dry run counts as no transaction; a presale list counts as one request per 5,000 entries.`,
      "put /v0/contracts/collections": `Changes only the given members. Members that never change may be repeated, and are refused if they differ. Updates of one collection run one after another: one that has to wait too long gets 503 with \`Retry-After\` and stays queued, and the same request returns its hash. ${isTransaction} A dry run counts as no transaction.`,
      "get /v0/me/contracts/collections":
        "Lists all confirmed collections of the account on a chain in one answer, with their presale lists. Counts as one read.",
      "get /v0/me/contracts/abis/{contract_address}":
        "Returns the ABI of a confirmed collection of the account; prices are in its runtime configuration (`getInfo`). Counts as one read.",
      "get /v0/contracts/{transaction_hash}":
        "Returns the address of the contract that a transaction of the account created or changed: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` if it had no effect. Poll every few seconds; each call counts as one read.",
    },
  },
  "Product contracts": {
    about: "Deploy and change ERC-721 and ERC-1155 contracts in which the service mints for your account.",
    operations: {
      "post /v0/contracts": `Deploys a contract in which only the owner, the service and accounts with a role can mint; \`GET /v0/contracts/{transaction_hash}\` returns its address once it is confirmed. ${sameForTenMinutes} ${isTransaction}`,
      "put /v0/contracts": `Changes only the given members. Updates of one contract run one after another, each once the previous one is in a block. \`roles\` and \`exit_nftport\` return 422 on networks where the operator has not set \`SIGN_ROLES_<CHAIN>=on\`. ${isTransaction}`,
      "get /v0/me/contracts":
        "Lists the confirmed product contracts of the account on all chains in one answer. Counts as one read.",
    },
  },
  Minting: {
    about:
      "Mint, change, burn and transfer tokens, and track the requests. The service pays the gas, and answers once the transaction is signed and stored, before it is in a block.",
    operations: {
      "post /v0/mints/customizable": `Mints one token of an ERC-721 or ERC-1155 contract of the account, exactly once. ${sameForTenMinutes} A mint that the contract would refuse returns 422 \`value_error\` and costs nothing. ${isAction}`,
      "put /v0/mints/customizable": `Changes the metadata URI of a token, permanently freezes it, or both. ${sameForTenMinutes} ${isTransaction}`,
      "delete /v0/mints/customizable": `Burns one token owned by the contract's owner; a token of another wallet returns 422. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/customizable/batch": `Mints 1 to 50 tokens of an ERC-1155 contract in one transaction; an ERC-721 contract takes one token. ${sameForTenMinutes} ${isAction}`,
      "delete /v0/mints/customizable/batch": `Burns 1 to 50 tokens owned by the contract's owner in one transaction; an ERC-721 contract takes one token. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/transfers": `Transfers one token owned by the contract's owner. Send an \`Idempotency-Key\` with each transfer: without one, two identical transfers of ERC-1155 tokens within ten minutes are one. ${isAction}`,
      "post /v0/mints/transfers/batch": `Transfers 1 to 50 tokens owned by the contract's owner in one transaction; an ERC-721 contract takes one token. Send an \`Idempotency-Key\` with each request: without one, two identical requests within ten minutes are one. ${isAction}`,
      "post /v0/mints/easy/urls": `Builds and stores the metadata, and mints one token with the next id in the service's own ERC-721 contract; chains without such a contract return 422. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/easy/files": `Stores the form's part \`file\` and its metadata, and mints one token with the next id in the service's own ERC-721 contract. ${sameForTenMinutes} ${isAction}`,
      "get /v0/mints/{transaction_hash}":
        "Returns the id of the token that a mint of the account created: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` if nothing was minted. Counts as one read.",
      "get /v0/mints/batch/{transaction_hash}":
        "Returns the ids of all tokens that a mint of the account created: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` if nothing was minted. Counts as one read.",
      "get /v0/me/mints":
        "Lists the tokens that the account has minted or is minting, each token of a batch on its own, newest first. Pages reach 10,000 tokens back. Counts as one read.",
    },
  },
  "Reading NFTs": {
    about: "Read tokens, their metadata, owners and contracts from the index, and search them.",
    operations: {
      "get /v0/accounts/{account_address}": `Lists the NFTs of an account. ${oneRead}`,
      "get /v0/accounts/contracts/{account_address}": `Lists the contracts of which an account owns NFTs, with the number of token ids of each. ${twoReads}; a page number beyond 10,000 items counts as more.`,
      "get /v0/accounts/creators/{account_address}": `Lists the NFTs whose minting transaction an account sent, newest mint first. In contracts of \`POST /v0/contracts\` the creator is the \`owner_address\` that was given there; a later change of owner does not change it. ${oneRead}`,
      "get /v0/nfts": `Lists all indexed NFTs of a chain, newest mint first. ${oneRead}`,
      "get /v0/nfts/{contract_address}": `Lists the NFTs of a contract, along with the contract itself; a contract that was never indexed returns 404. \`refresh_metadata\` counts all tokens of the contract towards the 200 per day that a free account can refresh. ${oneRead}`,
      "get /v0/nfts/{contract_address}/{token_id}":
        "Returns one NFT with all its data, regardless of `include`; one that was never indexed returns 404. Counts as one read; `refresh_metadata` counts as one of the 200 tokens per day that a free account can refresh.",
      "get /v0/search": `Finds NFTs that are not burned and whose name or description contains all words of the text; only the first 1,000 matches can be reached. ${twoReads}.`,
      "get /v0/reports/{report_type}":
        "Counts how many URIs of up to 100,000 tokens of the whole index could and could not be read, by type of storage. The figures can be ten minutes old. Counts as one read.",
    },
  },
  Transactions: {
    about: "Read transfers, mints and burns of NFTs. Sales are not indexed.",
    operations: {
      "get /v0/transactions": `Lists the transfers, mints and burns of NFTs on a chain, newest first. ${oneRead}`,
      "get /v0/transactions/accounts/{account_address}": `Lists the transfers, mints and burns of NFTs from and to an account, newest first. ${oneRead}`,
      "get /v0/transactions/nfts/{contract_address}": `Lists the transfers, mints and burns of a contract's NFTs, newest first. ${oneRead}`,
      "get /v0/transactions/nfts/{contract_address}/{token_id}": `Lists the transfers of one NFT with its mints and burns, newest first. ${oneRead}`,
      "get /v0/transactions/stats/{contract_address}": `Counts the supply, mints and owners of a contract; market members are always null. ${twoReads}.`,
    },
  },
  "Account and keys": {
    about: "Open an account, see its limits and usage, and manage its keys.",
    operations: {
      "get /v0/":
        "Returns the name and version of the API. Requires no key and does not count towards any limit of a plan.",
      "post /v0/signup":
        "Opens an account on the free plan and returns its first key, which is shown only once. Requires no key. New accounts are limited per IP address and in total, by hour and day, and the operator may have closed sign-up (403 `sign_up_closed`).",
      "get /v0/me/settings": "Returns the limits of the account's plan and its usage. Counts as one read.",
      "get /v0/me/keys": `Lists the keys of the account without their secrets. ${admin}`,
      "post /v0/me/keys": `Creates a key with some of the scopes of the calling key, and shows it only once; an account has at most 100 working keys. ${admin}`,
      "post /v0/me/keys/{id}/rotate": `Creates a key with the same name and scopes; the old one stops working after \`overlap_seconds\`. The body is optional. If the rotation is refused, the old key does not change. ${admin}`,
      "delete /v0/me/keys/{id}": `Revokes a key in every process within a second; revoking it again changes nothing. ${admin}`,
    },
  },
  "Events and webhooks": {
    about: "Receive events of the chains and of your own requests, as a stream or as signed messages to an endpoint.",
    operations: {
      "get /v1/events":
        "Streams server-sent events until the client disconnects. A stream can be resumed from the `id` of any event; events are kept for a week unless the operator set another time. A hundred events count as one read; an account can have 20 open streams per process.",
      "get /v1/webhooks": "Lists the endpoints of the account. Counts as one read.",
      "post /v1/webhooks": `Creates an endpoint for events from now on. It is \`unverified\`, and receives nothing else, until it has answered its challenge. A free plan must give \`contracts\`, or only types of the account's own requests. Unknown members are refused. ${admin}`,
      "get /v1/webhooks/{id}": "Returns one endpoint with its state. Counts as one read.",
      "patch /v1/webhooks/{id}": `Changes only the given members; a list replaces the whole list, and a new \`url\` must answer a new challenge. A changed filter also applies to waiting messages. ${admin}`,
      "delete /v1/webhooks/{id}": `Deletes the endpoint and all its waiting messages. ${admin}`,
      "post /v1/webhooks/{id}/pause": `Pauses the endpoint; events wait as long as they are kept. ${admin}`,
      "post /v1/webhooks/{id}/resume": `Resumes a paused or disabled endpoint where it stopped, with the events that are still kept. ${admin}`,
      "post /v1/webhooks/{id}/verify": `Sends a new challenge to an endpoint that has not answered one; a verified endpoint does not change. ${admin}`,
      "post /v1/webhooks/{id}/rotate": `Creates a new secret and shows it only once; messages are signed with both secrets until the old one ends. ${admin}`,
      "post /v1/webhooks/{id}/test": `Sends one test event with \`"test": true\` in its data to the endpoint. If the endpoint has left all its challenges unanswered, and none is scheduled, it returns 409 \`webhook_unverified\`. ${admin}`,
      "get /v1/webhooks/{id}/deliveries":
        "Lists 50 deliveries with their attempts, newest first. Failed deliveries are kept as long as events; of the successful ones, only the newest. Counts as one read.",
      "post /v1/webhooks/{id}/replay": `Sends events again with the same ids and bodies: give one of \`eventId\`, \`since\`, \`fromBlock\` with \`toBlock\`, or \`failed\`. Up to 10,000 events are sent; up to three replays of many events can run at once. ${admin}`,
    },
  },
};
