import { expect, test } from "vitest";
import { type AnswerClass, classOf, classOfStatus } from "../../src/rpc/answers.ts";

/** Code and message as the provider sends them; where they were reported, or whose interface they are of. */
const logs: [AnswerClass, number, string, string][] = [
  ["too_wide", -32005, "query returned more than 10000 results", "Infura"],
  ["too_wide", -32602, "range 1000000 exceeds limit of 10000", "INFURA/infura#237"],
  [
    "too_wide",
    -32602,
    "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x133e71]",
    "Alchemy",
  ],
  [
    "too_wide",
    -32600,
    "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1a30dfd, 0x1a30ff0]",
    "boundless-xyz/boundless#838",
  ],
  ["too_wide", -32614, "eth_getLogs is limited to a 10,000 range", "OffchainLabs/arbitrum-sdk#609"],
  ["too_wide", -32600, "block range is too wide", "Ankr"],
  ["too_wide", -32600, "block range too high", "AlphaWallet/alpha-wallet-ios#5277"],
  ["too_wide", -32000, "exceed maximum block range: 5000", "BNB Smart Chain"],
  [
    "too_wide",
    -32000,
    "block range is larger than max block range, block range = 5120, max block range = 5000",
    "enviodev/hyperindex#605",
  ],
  ["too_wide", -32005, "block range too large, max range: 1024", "0xPolygon/cdk-erigon#1706"],
  ["too_wide", -32000, "query block range exceeds server limit, narrow your filter: 1000", "erigontech/erigon#20784"],
  ["too_wide", -32000, "query returns too many logs, narrow your filter: 20000", "erigontech/erigon#20784"],
  ["too_wide", -32603, "block range is too wide (maximum 1024)", "moonbeam-foundation/moonbeam#3250"],
  ["too_wide", -32602, "query exceeds max block range 100000", "paradigmxyz/reth#8558"],
  ["too_wide", -32602, "query exceeds max results 20000, retry with the range 100-200", "reth"],
  ["too_wide", -32000, "requested too many blocks from 1 to 5000, maximum is set to 2048", "Avalanche"],
  ["too_wide", 35, "ranges over 10000 blocks are not supported on freetier", "dRPC"],
  ["too_wide", -32000, "Please limit the query to at most 10000 blocks", "Nodereal"],
  ["too_wide", -32020, "backend response too large", "proxyd"],
  ["too_wide", -32000, "response size should not greater than 10000000 bytes", "Klaytn"],
  ["too_wide", -32000, "eth_getLogs range is too large, max is 1k blocks", "Cronos"],
  ["too_wide", -32000, "Maximum allowed number of requested blocks is 10000", "zkSync"],
  ["too_wide", -32000, "maximum [from, to] blocks distance: 2000", "Evmos"],
  ["too_wide", -32000, "block range must be less than 10000", "some gateways"],
  ["too_wide", -32000, "Maximum block range is 2000", "some gateways"],
  ["too_wide", -32000, "Block range limit exceeded. See more details at https://docs.rpc.example/limits", "1RPC"],
  ["not_there_yet", -32000, "block range extends beyond current head block", "Erigon"],
  ["not_there_yet", -32602, "requested block range is beyond latest block", "some gateways"],
  ["pruned", -32000, "history not available: results limited to last 90000 blocks", "some gateways"],
  ["refused", -32602, "invalid block range params", "go-ethereum"],
  ["too_slow", -32000, "query timeout exceeded", "Infura"],
  ["too_slow", -32002, "request timed out", "go-ethereum"],
  ["too_slow", -32603, "context deadline exceeded", "Erigon"],
  ["too_slow", -32000, "log query execution aborted (timeout = 10s)", "Harmony"],
  ["not_there_yet", -32000, "unknown block", "go-ethereum"],
  [
    "not_there_yet",
    -32000,
    "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.",
    "Nethermind",
  ],
  ["not_there_yet", -32000, "cannot query unfinalized data", "Avalanche"],
  ["not_there_yet", -32000, "requested to block 100 after last accepted block 90", "Avalanche"],
];

const others: [AnswerClass, number, string, string][] = [
  ["rate_limited", -32005, "limit exceeded", "BNB Smart Chain"],
  ["rate_limited", -32005, "project ID request rate exceeded", "Infura"],
  [
    "rate_limited",
    -32007,
    "50/second request limit reached - reduce calls per second or upgrade your account",
    "QuickNode",
  ],
  ["rate_limited", -32016, "over rate limit", "proxyd, Base"],
  ["rate_limited", -32090, "Too many requests, reason: call rate limit exhausted, retry in 10s", "Polygon"],
  ["rate_limited", -32029, "Too Many Requests", "Blast API"],
  ["rate_limited", 429, "Your app has exceeded its compute units per second capacity.", "Alchemy"],
  ["rate_limited", -32097, "rate limit exceeded", "Cloudflare"],
  ["quota_ended", -32005, "daily request count exceeded, request rate limited", "Infura"],
  ["quota_ended", 429, "Monthly capacity limit exceeded. Visit https://dashboard.example/settings/billing", "Alchemy"],
  ["quota_ended", -32001, "daily request limit reached - upgrade your account to continue", "QuickNode"],
  ["key_refused", -32600, "Must be authenticated!", "Alchemy"],
  ["key_refused", -32051, "API key disabled, reason: API key is freeze mode", "Ankr"],
  ["key_refused", -32052, "API key is not allowed to access blockchain", "Ankr"],
  [
    "key_refused",
    -32002,
    "rejected due to project ID settings: project ID does not have access to this network",
    "Infura",
  ],
  ["key_refused", -32000, "Unauthorized: You must authenticate your request with an API key.", "Ankr"],
  ["key_refused", 0, "invalid project id", "Infura"],
  ["not_there_yet", -32000, "header not found", "go-ethereum"],
  ["not_there_yet", -32001, "block not found: 0x1234", "Reth"],
  ["not_there_yet", -32000, "header for hash not found", "Erigon"],
  ["pruned", -32000, "missing trie node 5f3a (path ) state 0x5f3a is not available", "go-ethereum"],
  ["pruned", -32000, "required historical state unavailable (reexec=128)", "go-ethereum"],
  ["pruned", -32002, "No state available for block 0x1234", "Nethermind"],
  ["pruned", 4444, "pruned history unavailable", "go-ethereum"],
  ["pruned", -32002, "project ID does not have access to archive state", "Infura"],
  ["unsupported", -32000, "unauthorized: method not allowed on free plan", "some gateways"],
  ["unsupported", -32052, "API key is not allowed to access method", "Ankr"],
  ["unsupported", -32601, "the method eth_getBlockReceipts does not exist/is not available", "go-ethereum"],
  ["unsupported", -32000, "method eth_getBlockReceipts not supported", "some gateways"],
  ["unsupported", -32004, "This method is not supported", "EIP-1474"],
  ["broken", -32603, "Internal error", "EIP-1474"],
  ["broken", -32000, "no backends available for method", "proxyd"],
  ["broken", -32000, "upstream connect error or disconnect/reset before headers", "Envoy"],
  ["refused", 3, "execution reverted: rate limit exceeded, invalid api key", "a contract's words"],
  ["refused", -32000, "VM execution error. Reverted 0x", "OpenEthereum"],
  ["refused", -32000, "gas required exceeds allowance (10000000)", "go-ethereum"],
  ["refused", -32015, "out of gas", "Nethermind"],
  ["refused", -32602, "invalid argument 0: hex string without 0x prefix", "go-ethereum"],
];

test.each(logs)("logs: %s by %i %s (%s)", (kind, code, message) => {
  expect(classOf({ code, message }, "eth_getLogs")).toBe(kind);
});

test.each(others)("%s by %i %s (%s)", (kind, code, message) => {
  expect(classOf({ code, message }, "eth_call")).toBe(kind);
});

test("what a node says of a transaction is the chain's word, unless it is of the node itself", () => {
  const said = (code: number, message: string) => classOf({ code, message }, "eth_sendRawTransaction");
  for (const words of ["nonce too low", "already known", "replacement transaction underpriced", "insufficient funds"])
    expect(said(-32000, words)).toBe("refused");
  expect(said(-32005, "daily request count exceeded")).toBe("quota_ended");
});

test("a status counts where the body says nothing", () => {
  const classes = [429, 402, 401, 403, 408, 500, 502, 503, 200, 400].map(classOfStatus);
  expect(classes).toEqual([
    ...["rate_limited", "quota_ended", "key_refused", "key_refused", "too_slow"],
    ...["broken", "broken", "broken", null, null],
  ]);
});
