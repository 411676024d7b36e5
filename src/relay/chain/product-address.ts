import {
  type Address,
  concatHex,
  decodeFunctionData,
  encodeAbiParameters,
  getAbiItem,
  getContractAddress,
  getCreate2Address,
  type Hex,
  keccak256,
  numberToHex,
  size,
  stringToHex,
} from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";

const [, ...asked] = getAbiItem({ abi: productOperatorAbi, name: "deployERC721" }).inputs;

/** Where a product contract stands, and with which code. */
export interface ProductPlace {
  /** Lower case. */
  address: Address;
  code: Hex;
}

/**
 * Where the operator's call that deploys a product puts it, and the code that is there then: twin of `predict721` and
 * `ProductArgs.pack`. The address commits to the intent's name and to all that is asked for, so no endpoint is asked.
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
  // The operator's constructor makes the two templates, one after the other (EIP-161: a contract's nonces begin at 1).
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
