import { type Abi, type Address, encodeFunctionData, type Hex } from "viem";
import { type GasChain, type GasReport, people } from "../../test/contracts/gas-scenario.ts";
import { measure721, measure1155, productScenario } from "../../test/contracts/product-gas-scenario.ts";
import { artifact } from "./peers.ts";

const { name, symbol, cidUri, otherUri, holder } = productScenario;

/** Compositions of OpenZeppelin 4.9, deployed by a wallet. */
export async function measureCompositions(chain: GasChain): Promise<GasReport> {
  const one = artifact("contracts/Composition721.sol/Composition721");
  const many = artifact("contracts/Composition1155.sol/Composition1155");
  const erc721 = await chain.create(people.owner, one.abi, one.bytecode, [name, symbol, people.owner]);
  const erc1155 = await chain.create(people.owner, many.abi, many.bytecode, [people.owner]);
  return {
    deploy721: erc721.gas,
    deploy1155: erc1155.gas,
    ...(await measure721(chain, erc721.address, one.abi)),
    ...(await measure1155(chain, erc1155.address, many.abi)),
  };
}

type Peer = { address: Address; abi: Abi; gas: number };

/** thirdweb's TokenERC721 and TokenERC1155 as their users get them: ERC-1167 clones. */
export async function measureThirdwebTokens(chain: GasChain): Promise<GasReport> {
  const maker = artifact("contracts/CloneMaker.sol/CloneMaker");
  const clones = await chain.create(people.admin, maker.abi, maker.bytecode, []);
  const clone = async (kind: string): Promise<Peer> => {
    const { abi, bytecode } = artifact(`@thirdweb-dev/contracts/prebuilts/token/${kind}.sol/${kind}`);
    const template = await chain.create(people.admin, abi, bytecode, []);
    const { owner, royalties } = people;
    const args = [owner, name, symbol, "", [], owner, royalties, 500n, 0n, owner];
    const init = encodeFunctionData({ abi, functionName: "initialize", args });
    const make = encodeFunctionData({ abi: maker.abi, functionName: "make", args: [template.address, init] });
    const made = await chain.send(people.relayer, clones.address, make);
    return { address: `0x${made.logs.at(-1)?.data.slice(-40)}` as Address, abi, gas: Number(made.gasUsed) };
  };
  const newId = 2n ** 256n - 1n;
  return {
    ...(await measureMints(chain, "721", await clone("TokenERC721"), "mintTo", (to, uri) => [to, uri])),
    ...(await measureMints(chain, "1155", await clone("TokenERC1155"), "mintTo", (to, uri) => [to, newId, uri, 10n])),
  };
}

/** Peers that assign the token ids themselves. */
async function measureMints(
  chain: GasChain,
  kind: "721" | "1155",
  { address, abi, gas }: Peer,
  functionName: string,
  argsOf: (to: Address, uri: string) => readonly unknown[],
): Promise<GasReport> {
  const send = async (from: Address, data: Hex) => Number((await chain.send(from, address, data)).gasUsed);
  const mint = (to: Address, uri: string) =>
    send(people.owner, encodeFunctionData({ abi, functionName, args: argsOf(to, uri) }));
  await mint(holder(200), cidUri);
  return {
    [`deploy${kind}`]: gas,
    [`mint${kind}`]: await mint(holder(201), cidUri),
    [`mint${kind}Text`]: await mint(holder(202), otherUri),
  };
}
