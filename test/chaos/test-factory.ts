import { readFileSync, realpathSync } from "node:fs";
import { type Address, createTestClient, type Hex, http, publicActions, walletActions } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import { compileSolidity } from "../setup/compile.ts";

export interface TestFactory {
  /** Lower case. */
  address: Address;
  block: bigint;
  /** An account of the node: its transactions take none of the relay's nonces. */
  admin: Address;
}

export interface FactoryKind {
  /** Takes an intent that it had before and makes a further contract: the salt hides no nonce defect. */
  permissive?: boolean;
  /** Anybody may call it. */
  open?: boolean;
  /** Its salt is the intent alone: what the real one must not be. */
  weakSalt?: boolean;
}

/** The same for a copy of the tree whose contracts are a link, so that one compilation serves both. */
const folder = `${realpathSync(new URL("../../contracts/src", import.meta.url))}/`;

/** The factory as it is, or changed in one way, with every wallet of `keys` as a relayer. */
export async function deployTestFactory(
  nodeUrl: string,
  keys: readonly Hex[],
  kind: FactoryKind,
): Promise<TestFactory> {
  const client = createTestClient({ mode: "anvil", transport: http(nodeUrl), pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions);
  const [admin] = await client.getAddresses();
  const [first, ...more] = keys.map((key) => privateKeyToAddress(key));
  if (!admin || !first) throw new Error("a node with accounts and a wallet are wanted");
  const send = { account: admin, chain: null } as const;
  const bytecode = Object.values(kind).includes(true) ? compileChanged(kind) : collectionFactoryBytecode;
  const made = await client.deployContract({ ...send, abi: collectionFactoryAbi, bytecode, args: [admin, first] });
  const { contractAddress: address, blockNumber: block } = await client.waitForTransactionReceipt({ hash: made });
  if (!address) throw new Error("the factory was not made");
  const role = await client.readContract({ address, abi: collectionFactoryAbi, functionName: "RELAYER_ROLE" });
  for (const wallet of more) {
    const grant = { address, abi: collectionFactoryAbi, functionName: "grantRole", args: [role, wallet] } as const;
    await client.waitForTransactionReceipt({ hash: await client.writeContract({ ...send, ...grant }) });
  }
  return { address: address.toLowerCase() as Address, block, admin };
}

const compiled = new Map<string, Hex>();

function compileChanged(kind: FactoryKind): Hex {
  const name = JSON.stringify(kind);
  const known = compiled.get(name);
  if (known) return known;
  let source = readFileSync(`${folder}CollectionFactory.sol`, "utf8").replaceAll('from "./', `from "${folder}`);
  const change = (from: string, to: string) => {
    if (source.split(from).length !== 2) throw new Error(`not once in the factory: ${from}`);
    source = source.replace(from, to);
  };
  if (kind.permissive) {
    change("    bool public paused;", "    bool public paused;\n    mapping(bytes32 => uint256) private _made;");
    change(
      "= _packClone(initData.length, code);\n        if",
      "= _packClone(initData.length, code);\n        salt = bytes32(uint256(salt) + _made[salt]++);\n        if",
    );
  }
  if (kind.open) change("        _checkRelayer();\n", "");
  if (kind.weakSalt) change("salt := keccak256(code, 96)", "salt := intentId");
  const bytecode = compileSolidity(source)["CollectionFactory"]?.bytecode;
  if (!bytecode) throw new Error("the changed factory was not compiled");
  compiled.set(name, bytecode);
  return bytecode;
}
