import {
  type Address,
  concatHex,
  decodeFunctionData,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  getAbiItem,
  getContractAddress,
  getCreate2Address,
  type Hash,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  size,
  stringToHex,
} from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { NodeFault, type RpcCall } from "../../rpc/endpoint.ts";
import { agreeOnBytes, type Nodes } from "../../rpc/nodes.ts";
import { calls, parseBlock, parseHex } from "../../rpc/reads.ts";
import { type ContractChanges, type RoleList, roleWords } from "../store/payloads.ts";

const [, ...asked] = getAbiItem({ abi: productOperatorAbi, name: "deployERC721" }).inputs;

/** Address and code of a product contract. */
interface ProductPlace {
  /** Lower case. */
  address: Address;
  code: Hex;
}

/**
 * The address at which the operator's call deploys a product, and its code: the counterpart of `predict721` and
 * `ProductArgs.pack`. The address commits to the intent's name and to the whole request, so no endpoint is asked.
 *
 * @param call of `deployERC721` or `deployERC1155`.
 * @throws Error for any other call.
 */
export function placeOfProduct(operator: Address, call: Hex): ProductPlace {
  const { functionName, args } = decodeFunctionData({ abi: productOperatorAbi, data: call });
  if (functionName !== "deployERC721" && functionName !== "deployERC1155")
    throw new Error(`${functionName} deploys no product`);
  const [name, deployment, runtime, roles] = args;
  const request = keccak256(encodeAbiParameters(asked, [deployment, runtime, roles]));
  const salt = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "bytes32" }], [name, request]));
  // The operator's constructor creates the two templates in this order (EIP-161: a contract's nonces begin at 1).
  const template = getContractAddress({ from: operator, nonce: functionName === "deployERC721" ? 1n : 2n });
  const code = concatHex([
    "0x363d3d373d3d3d363d73",
    template,
    "0x5af43d82803e903d91602b57fd5bf3",
    runtime.royaltiesAddress,
    numberToHex(runtime.royaltiesBps, { size: 2 }),
    ...[deployment.name, deployment.symbol].map((text) => numberToHex(size(bytesOf(text)), { size: 2 })),
    ...[deployment.name, deployment.symbol, runtime.baseURI].map(bytesOf),
  ]).toLowerCase() as Hex;
  const bytecode = concatHex(["0x61", numberToHex(size(code), { size: 2 }), "0x3d81600a3d39f3", code]);
  return { address: getCreate2Address({ from: operator, salt, bytecode }).toLowerCase() as Address, code };
}

function bytesOf(text: string): Hex {
  return text === "" ? "0x" : stringToHex(text);
}

/** Functions of a product contract that the operator calls, or that are read before. */
export const productAbi = parseAbi([
  "struct Runtime { string baseURI; bool metadataUpdatable; bool tokensTransferable; uint256 royaltiesBps; address royaltiesAddress; }",
  "struct Roles { bytes32 role; address[] addresses; bool frozen; }",
  "function update(Runtime newConfig, Roles[] rolesAddresses, bool isRevokeNFTPortPermissions)",
  "function updateTokenUri(uint256 tokenId, string uri, bool freeze)",
  "function owner() view returns (address)",
  "function baseURI() view returns (string)",
  "function metadataUpdatable() view returns (bool)",
  "function tokensTransferable() view returns (bool)",
  "function royaltiesBasisPoints() view returns (uint256)",
  "function royaltiesAddress() view returns (address)",
]);
/** The settings of a product contract: an update replaces the whole record. */
export interface RuntimeRecord {
  baseURI: string;
  metadataUpdatable: boolean;
  tokensTransferable: boolean;
  royaltiesBps: bigint;
  royaltiesAddress: Address;
}

export function rolesOf(lists: readonly RoleList[]) {
  return lists.map(({ role, addresses, freeze }) => ({
    role: keccak256(stringToHex(roleWords[role])),
    addresses: addresses.map((address) => address.toLowerCase() as Address),
    frozen: freeze,
  }));
}

export function encodeUpdateProduct(runtime: RuntimeRecord, roles: readonly RoleList[], exit: boolean): Hex {
  return encodeFunctionData({ abi: productAbi, functionName: "update", args: [runtime, rolesOf(roles), exit] });
}

const members = [
  "baseURI",
  "metadataUpdatable",
  "tokensTransferable",
  "royaltiesBasisPoints",
  "royaltiesAddress",
] as const;

/** The calls that read a contract's settings as of one block; `decodeRecord` decodes the answers. */
export function recordCalls(contract: Address, blockHash: Hash): RpcCall[] {
  return members.map((functionName) =>
    calls.call(contract, encodeFunctionData({ abi: productAbi, functionName }), { blockHash }),
  );
}

/** @param answers to `recordCalls`, in their order; none of them empty. */
export function decodeRecord(answers: readonly Hex[]): RuntimeRecord {
  const [baseURI, updatable, transferable, bps, receiver] = answers.map((answer) => answer ?? "0x");
  const read = <T extends (typeof members)[number]>(functionName: T, data: Hex = "0x") =>
    decodeFunctionResult({ abi: productAbi, functionName, data } as never) as unknown;
  return {
    baseURI: String(read("baseURI", baseURI)),
    metadataUpdatable: read("metadataUpdatable", updatable) === true,
    tokensTransferable: read("tokensTransferable", transferable) === true,
    royaltiesBps: BigInt(read("royaltiesBasisPoints", bps) as bigint),
    royaltiesAddress: read("royaltiesAddress", receiver) as Address,
  };
}

/**
 * A contract's settings, as enough endpoints report them.
 *
 * @param blockHash absent: the newest block.
 * @throws NodeFault while too few of them agree, or have that block's state.
 */
export async function readAgreedRecord(
  nodes: Nodes,
  quorum: number,
  contract: Address,
  blockHash?: Hash,
): Promise<RuntimeRecord> {
  return await nodes.first(async (node) => {
    const at = blockHash ?? parseBlock((await node.ask([calls.block("latest")]))[0]).hash;
    const questions = recordCalls(contract, at);
    const answers = (await node.ask(questions)).map((answer) => parseHex(answer, "a setting"));
    const agreed = await Promise.all(
      questions.map((call, index) => agreeOnBytes(nodes, quorum, call, answers[index] ?? "0x")),
    );
    if (agreed.includes(false)) throw new NodeFault("the endpoints do not say the same of a contract's settings");
    if (answers.includes("0x")) throw new NodeFault("no product contract at this address");
    return decodeRecord(answers);
  });
}

/** The settings with the changes applied. */
export function applyContractChanges(now: RuntimeRecord, changes: ContractChanges): RuntimeRecord {
  return {
    baseURI: changes.baseUri ?? now.baseURI,
    metadataUpdatable: now.metadataUpdatable && !changes.freezeMetadata,
    tokensTransferable: now.tokensTransferable,
    royaltiesBps: changes.royaltiesBps === undefined ? now.royaltiesBps : BigInt(changes.royaltiesBps),
    royaltiesAddress: (changes.royaltiesAddress?.toLowerCase() ?? now.royaltiesAddress) as Address,
  };
}

/** The first setting that differs from an update's request; null when none does. Roles and exits are not compared. */
export function findOtherSetting(now: RuntimeRecord, changes: ContractChanges): string | null {
  const wanted = applyContractChanges(now, changes);
  const other = (Object.keys(wanted) as (keyof RuntimeRecord)[]).find(
    (member) => spelled(member, now[member]) !== spelled(member, wanted[member]),
  );
  return other ? `${other} is ${String(now[other]).slice(0, 200)}` : null;
}

function spelled(member: keyof RuntimeRecord, value: unknown): string {
  return member === "royaltiesAddress" ? String(value).toLowerCase() : String(value);
}
