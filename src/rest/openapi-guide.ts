/* The OpenAPI document's description of each operation, by task. A test fails for operations that are missing here. */

/** What a repeated request is, and its answer. */
const sameForTenMinutes =
  "The same body within ten minutes, or the same header `Idempotency-Key` at any time, is the same request and answers with the same hash.";
const isTransaction =
  "Needs the scope `deploy`; counts as a request that may deploy, and as one transaction of the plan's day and month for each 500,000 gas that it begins.";
const isAction =
  "Needs the scope `deploy`; counts as a request that may deploy, and each token as one of the plan's `max_mints` on the chain, or more when it takes much gas.";
const upload = "Needs the scope `upload` and counts as one upload";
const admin = "Needs the scope `admin` and counts as a request that may deploy.";
const twoReads = "Counts as one read of the month, and as two in the rate of a second";
const oneRead =
  "Counts as one read; in the rate of a second a page number deeper than 10,000 items counts as more, a `continuation` never.";

interface Task {
  about: string;
  /** By method and path: what the operation does, how it is counted, and what is special about it. */
  operations: Readonly<Record<string, string>>;
}

/** The document's tags, in order. */
export const tasks: Readonly<Record<string, Task>> = {
  "Files and metadata": {
    about: "Store files and token metadata on IPFS, and list what the account has stored.",
    operations: {
      "post /v0/files": `Stores one file, sent as the part \`file\` of a form (\`curl -F file=@key.png\`); its bytes are on disk when the answer comes. ${upload}; the same bytes have the same CID and use storage once.`,
      "post /v0/metadata": `Writes one metadata document of at most 1 MiB from the members and stores it; members that are not listed are ignored. ${upload}; the same members in the same order have the same CID.`,
      "post /v0/metadata/directory": `Checks and stores a whole folder, one part \`metadata_files\` for each JSON file (\`curl -F metadata_files=@0.json\`); each is linked under its name with and without extension. Any fault refuses the folder, and one answer lists all of them; the limit is 25,000 files, 50 MiB together and 1 MiB each unless the operator set others. ${upload} for each 250 files or MiB, a dry run too.`,
      "get /v0/me/storage": "Lists the uploads of the account by page, newest first. Counts as one read.",
    },
  },
  Collections: {
    about: "Deploy ERC-721 collections that sell their tokens, change them, and look them up.",
    operations: {
      "post /v0/contracts/collections": `Deploys a collection at the service's cost; \`GET /v0/contracts/{transaction_hash}\` has its address once it is confirmed. An \`Idempotency-Key\` makes the request one deployment for ever; without it equal requests are one until ten minutes after the confirmation. ${isTransaction} A dry run is no transaction; a presale list counts as one request for each 5,000 entries.`,
      "put /v0/contracts/collections": `Changes the members that it names and nothing else; members that never change may be repeated, and are refused where they differ. Updates of one collection run one after another: one that has to wait too long gets 503 with \`Retry-After\` and stays queued, and the same request returns its hash. ${isTransaction} A dry run is no transaction.`,
      "get /v0/me/contracts/collections":
        "Lists all confirmed collections of the account on a chain in one answer, with their presale lists. Counts as one read.",
      "get /v0/me/contracts/abis/{contract_address}":
        "Has the ABI of a confirmed collection of the account; prices are in its runtime configuration (`getInfo`). Counts as one read.",
      "get /v0/contracts/{transaction_hash}":
        "Has the address of the contract that a transaction of the account made or changed: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` when nothing came of it. Ask again every few seconds; each time counts as one read.",
    },
  },
  "Product contracts": {
    about: "Deploy and change ERC-721 and ERC-1155 contracts in which the service mints for the account.",
    operations: {
      "post /v0/contracts": `Deploys a contract in which only the owner, the service and holders of roles mint; \`GET /v0/contracts/{transaction_hash}\` has its address once it is confirmed. ${sameForTenMinutes} ${isTransaction}`,
      "put /v0/contracts": `Changes the members that it names; updates of one contract run one after another, each once the one before is in a block. \`roles\` and \`exit_nftport\` answer 422 on networks where the operator has not set \`SIGN_ROLES_<CHAIN>=on\`. ${isTransaction}`,
      "get /v0/me/contracts":
        "Lists the confirmed product contracts of the account on all chains in one answer. Counts as one read.",
    },
  },
  Minting: {
    about:
      "Mint, change, burn and transfer tokens, and follow what became of them. The service pays the gas; an answer comes when the transaction is signed and stored, before it is in a block.",
    operations: {
      "post /v0/mints/customizable": `Mints one token of an ERC-721 or ERC-1155 contract of the account, exactly once. ${sameForTenMinutes} What the contract would refuse is 422 \`value_error\` and costs nothing. ${isAction}`,
      "put /v0/mints/customizable": `Sets another metadata URI of a token, freezes it for good, or both. ${sameForTenMinutes} ${isTransaction}`,
      "delete /v0/mints/customizable": `Burns one token that the contract's owner holds; a token that another wallet holds is 422. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/customizable/batch": `Mints 1 to 50 tokens of an ERC-1155 contract in one transaction; an ERC-721 contract takes one token. ${sameForTenMinutes} ${isAction}`,
      "delete /v0/mints/customizable/batch": `Burns 1 to 50 tokens that the contract's owner holds in one transaction; an ERC-721 contract takes one token. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/transfers": `Transfers one token that the contract's owner holds. Without an \`Idempotency-Key\` two equal transfers of ERC-1155 tokens within ten minutes are one: send a key with each. ${isAction}`,
      "post /v0/mints/transfers/batch": `Transfers 1 to 50 tokens that the contract's owner holds in one transaction; an ERC-721 contract takes one token. Without an \`Idempotency-Key\` two equal requests within ten minutes are one: send a key with each. ${isAction}`,
      "post /v0/mints/easy/urls": `Writes and stores the metadata, and mints one token with the next id in the service's own ERC-721 contract; chains without such a contract answer 422. ${sameForTenMinutes} ${isAction}`,
      "post /v0/mints/easy/files": `Stores the file of the form's part \`file\` and its metadata, and mints one token with the next id in the service's own ERC-721 contract. ${sameForTenMinutes} ${isAction}`,
      "get /v0/mints/{transaction_hash}":
        "Has the id of the token that a mint of the account made: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` when nothing was minted. Counts as one read.",
      "get /v0/mints/batch/{transaction_hash}":
        "Has the ids of all tokens that a mint of the account made: 404 `transaction_pending` until it is confirmed, 404 `transaction_failed` when nothing was minted. Counts as one read.",
      "get /v0/me/mints":
        "Lists the tokens that the account's mints made or are making, a batch as several, newest first. Pages reach 10,000 tokens back. Counts as one read.",
    },
  },
  "Reading NFTs": {
    about: "Read tokens, their metadata, holders and contracts from the index, and search them.",
    operations: {
      "get /v0/accounts/{account_address}": `Lists the NFTs that an account holds. ${oneRead}`,
      "get /v0/accounts/contracts/{account_address}": `Lists the contracts of which an account holds NFTs, with how many token ids of each. ${twoReads}; a page number deeper than 10,000 items counts as more.`,
      "get /v0/accounts/creators/{account_address}": `Lists the NFTs whose minting transaction an account sent, newest mint first. In contracts of \`POST /v0/contracts\` the creator is the \`owner_address\` that was given there, and a later owner does not change it. ${oneRead}`,
      "get /v0/nfts": `Lists all NFTs of a chain that the index has, newest mint first. ${oneRead}`,
      "get /v0/nfts/{contract_address}": `Lists the NFTs of a contract, with the contract; one that the index has never seen is 404. \`refresh_metadata\` counts as all tokens of the contract against the 200 that a free account may have read again in a day. ${oneRead}`,
      "get /v0/nfts/{contract_address}/{token_id}":
        "Has one NFT with all that is known of it, whatever `include` asks for; one that the index has never seen is 404. Counts as one read; `refresh_metadata` as one of the 200 tokens that a free account may have read again in a day.",
      "get /v0/search": `Has live NFTs whose name or description has all words of the text; at most 1,000 matches can be paged through. ${twoReads}.`,
      "get /v0/reports/{report_type}":
        "Counts how many URIs behind up to 100,000 tokens of the whole index could and could not be read, by where they point to. The figures are up to ten minutes old. Counts as one read.",
    },
  },
  Transactions: {
    about: "Read how NFTs moved: mints, transfers and burns. Sales are not indexed.",
    operations: {
      "get /v0/transactions": `Lists the movements of NFTs on a chain, newest first. ${oneRead}`,
      "get /v0/transactions/accounts/{account_address}": `Lists the movements of NFTs from and to an account, newest first. ${oneRead}`,
      "get /v0/transactions/nfts/{contract_address}": `Lists the movements of a contract's NFTs, newest first. ${oneRead}`,
      "get /v0/transactions/nfts/{contract_address}/{token_id}": `Lists the movements of one NFT, newest first. ${oneRead}`,
      "get /v0/transactions/stats/{contract_address}": `Counts supply, mints and holders of a contract; members of a market are always null. ${twoReads}.`,
    },
  },
  "Account and keys": {
    about: "Open an account, see what it may do and has used, and manage its keys.",
    operations: {
      "get /v0/": "Says which API answers here; it needs no key and counts as nothing of a plan.",
      "post /v0/signup":
        "Opens an account on the free plan and answers with its first key, which is shown only once. It needs no key; addresses may open a limited number of accounts in an hour and a day, and the operator may have closed sign-up (403 `sign_up_closed`).",
      "get /v0/me/settings": "Has the limits of the account's plan and what is used of them. Counts as one read.",
      "get /v0/me/keys": `Lists the keys of the account without their secrets. ${admin}`,
      "post /v0/me/keys": `Makes a key with some of the calling key's scopes and shows it only once; an account has at most 100 keys that work. ${admin}`,
      "post /v0/me/keys/{id}/rotate": `Makes a key with the same name and scopes, and ends the old one after \`overlap_seconds\`; a body may be left out. A refused rotation leaves the old key as it was. ${admin}`,
      "delete /v0/me/keys/{id}": `Revokes a key in every process within a second; doing it again changes nothing. ${admin}`,
    },
  },
  "Events and webhooks": {
    about: "Receive events of chains and of your own requests, as a stream or as signed messages to an endpoint.",
    operations: {
      "get /v1/events":
        "Streams events as server-sent events until you leave; the `id` of each is a place to resume from, and events are kept for a week unless the operator set another time. A hundred events count as one read; an account may have 20 streams open in one process.",
      "get /v1/webhooks": "Lists the endpoints of the account. Counts as one read.",
      "post /v1/webhooks": `Makes an endpoint for events from now on; it is \`unverified\`, and gets nothing else, until it has answered its challenge. A free plan needs \`contracts\`, or only types of the account's own requests; members that are not listed are refused. ${admin}`,
      "get /v1/webhooks/{id}": "Has one endpoint with its state. Counts as one read.",
      "patch /v1/webhooks/{id}": `Changes the members that are given, and a list replaces a list; another \`url\` has to answer a challenge anew. A changed filter holds for what waits, too. ${admin}`,
      "delete /v1/webhooks/{id}": `Deletes the endpoint with all messages that wait for it. ${admin}`,
      "post /v1/webhooks/{id}/pause": `Stops sending; events wait as long as they are kept. ${admin}`,
      "post /v1/webhooks/{id}/resume": `Goes on where sending stopped, also after the endpoint was disabled, as far as events are kept. ${admin}`,
      "post /v1/webhooks/{id}/verify": `Sends a new challenge to an endpoint that has not answered one; a verified endpoint stays as it is. ${admin}`,
      "post /v1/webhooks/{id}/rotate": `Makes a new secret and shows it only once; messages are signed with both until the old one ends. ${admin}`,
      "post /v1/webhooks/{id}/test": `Sends one invented event with \`"test": true\` in its data to the endpoint. An endpoint that has not answered its challenge, as often as it was asked, is 409 \`webhook_unverified\`. ${admin}`,
      "get /v1/webhooks/{id}/deliveries":
        "Lists 50 deliveries with their tries, newest first: all that failed, and of the others the newest. Counts as one read.",
      "post /v1/webhooks/{id}/replay": `Sends events again with the same ids and bodies: one of \`eventId\`, \`since\`, \`fromBlock\` with \`toBlock\`, or \`failed\`. It takes 10,000 events at most, and three replays of many events may be under way at once. ${admin}`,
    },
  },
};
