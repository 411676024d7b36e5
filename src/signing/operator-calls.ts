import { type AbiParameter, decodeAbiParameters, encodeAbiParameters, type Hex, toFunctionSelector } from "viem";
import { parseAbiParameters } from "viem/utils";

/** The functions of the operator of product contracts that may be called: to deploy a contract, and to act on one. */
export const operatorSelectors = {
  deployERC721: "0x28cfc8db",
  deployERC1155: "0x65bcd503",
  execute: "0xa05aa016",
  executeBatch: "0x2daf1148",
} as const;

const updateSignature = "update((string,bool,bool,uint256,address),(bytes32,address[],bool)[],bool)";
const updateSelector = toFunctionSelector(updateSignature);
/** The functions of a product contract that the operator calls: none changes its owner or grants a role. */
const productSelectors = new Set<Hex>(
  [
    updateSignature,
    "updateTokenUri(uint256,string,bool)",
    "mintToCaller(address,uint256,string)",
    "mintByOwner(address,uint256,uint256,string)",
    "mintByOwnerBatch(address[],uint256[],uint256[],string[])",
    "transferByOwner(address,uint256)",
    "transferByOwner(address,uint256,uint256)",
    "transferByOwnerBatch(address[],uint256[],uint256[])",
    "burn(uint256)",
    "burn(uint256,uint256)",
    "burnBatch(uint256[],uint256[])",
  ].map((signature) => toFunctionSelector(signature)),
);

const structs = [
  "struct Call { bytes32 intent; address target; bytes data; }",
  "struct Deployment { string name; string symbol; address owner; bool tokensBurnable; }",
  "struct Runtime { string baseURI; bool metadataUpdatable; bool tokensTransferable; uint256 royaltiesBps; address royaltiesAddress; }",
  "struct Roles { bytes32 role; address[] addresses; bool frozen; }",
] as const;
const executeParameters = parseAbiParameters("bytes32 intent, address target, bytes data");
const batchParameters = parseAbiParameters(["Call[] calls", ...structs]);
const deployParameters = parseAbiParameters([
  "bytes32 name, Deployment deployment, Runtime runtime, Roles[] roles",
  ...structs,
]);
const updateParameters = parseAbiParameters(["Runtime runtime, Roles[] roles, bool exit", ...structs]);

/** One action of an operator's call. */
export interface OperatorAct {
  /** The intent's name. */
  name: Hex;
  /** It calls only a mint, an update, a burn or a transfer of a product contract. */
  known: boolean;
  /** It sets a role list of an existing contract, even an empty one, or ends the service's rights on it. */
  handsOutRights: boolean;
}

/**
 * The actions of an operator's call, one per part of a batch.
 *
 * @param data lower case.
 * @throws Error for a call that differs from its canonical encoding: two decoders could read it differently, and what
 *   counts is how the contract reads it.
 */
export function readOperatorCall(data: Hex): readonly OperatorAct[] {
  const bytes: Hex = `0x${data.slice(10)}`;
  switch (data.slice(0, 10)) {
    case operatorSelectors.execute: {
      const [name, , call] = decodeExactly(executeParameters, bytes);
      return [readProductCall(name, call)];
    }
    case operatorSelectors.executeBatch: {
      const [calls] = decodeExactly(batchParameters, bytes);
      if (calls.length === 0) throw new Error("an empty batch");
      return calls.map(({ intent, data: call }) => readProductCall(intent, call));
    }
    default: {
      const [name] = decodeExactly(deployParameters, bytes);
      // Role lists of a contract that is only being created give no rights on anything that anybody owns yet.
      return [{ name, known: true, handsOutRights: false }];
    }
  }
}

function readProductCall(name: Hex, call: Hex): OperatorAct {
  const selector = call.slice(0, 10) as Hex;
  if (selector !== updateSelector) return { name, known: productSelectors.has(selector), handsOutRights: false };
  const [, roles, exit] = decodeExactly(updateParameters, `0x${call.slice(10)}`);
  return { name, known: true, handsOutRights: roles.length > 0 || exit };
}

function decodeExactly<const T extends readonly AbiParameter[]>(parameters: T, bytes: Hex) {
  const values = decodeAbiParameters(parameters, bytes);
  if (encodeAbiParameters(parameters, values as never) !== bytes) throw new Error("another encoding");
  return values;
}
