import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Abi, type Address, concatHex, encodeFunctionData, type Hex, keccak256, numberToHex, pad } from "viem";
import { merkleTree } from "../../test/contracts/allowlist-tree.ts";
import { type GasChain, type GasReport, people, scenario } from "../../test/contracts/gas-scenario.ts";

type Artifact = { abi: Abi; bytecode: Hex };
const [b0, b1, b2, b3, b4, b5, b6, b7] = people.buyers as [
  Address,
  Address,
  Address,
  Address,
  Address,
  Address,
  Address,
  Address,
];

/** Compiles the peers with the same compiler and settings as our contracts. */
export function buildPeers(): void {
  const cli = new URL("../../node_modules/hardhat/dist/src/cli.js", import.meta.url).pathname;
  const folder = new URL(".", import.meta.url).pathname;
  const { status, stderr } = spawnSync(process.execPath, [cli, "build", "--quiet"], { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`the peers do not compile; npm ci in bench/gas first?\n${stderr}`);
}

/** A peer's compiled artifact. */
export function artifact(path: string): Artifact {
  return JSON.parse(readFileSync(new URL(`artifacts/${path}.json`, import.meta.url), "utf8")) as Artifact;
}

/** A thin drop of our own on top of the token library `name`. */
export async function measureThinDrop(chain: GasChain, name: string): Promise<GasReport> {
  const { abi, bytecode } = artifact(`contracts/${name}.sol/${name}`);
  const deploy = (length: number) =>
    chain.create(people.owner, abi, bytecode, [
      {
        name: "Lighthouse Postcards 23",
        symbol: "LHP23",
        prereveal: scenario.prereveal,
        owner: people.owner,
        treasury: people.treasury,
        maxSupply: 5000n,
        reserve: 100n,
        perMint: 20n,
        price: scenario.priceWei,
        presalePrice: scenario.presalePriceWei,
        start: scenario.start,
        root: scenario.list(length).root,
      },
    ]);
  const { address, gas } = await deploy(1000);
  const large = await deploy(5000);
  const send = async (from: Address, to: Address, functionName: string, args: readonly unknown[], value = 0n) =>
    Number((await chain.send(from, to, encodeFunctionData({ abi, functionName, args }), value)).gasUsed);
  const mint = (from: Address, amount: bigint, to = address) =>
    send(from, to, "mint", [amount], amount * scenario.priceWei);
  const presale = (from: Address, length: number, to: Address) =>
    send(from, to, "presaleMint", [1n, scenario.list(length).proof(from)], scenario.presalePriceWei);

  await mint(b7, 1n);
  const report: GasReport = { deploy: gas };
  report["mint1"] = await mint(b0, 1n);
  report["mint5"] = await mint(b1, 5n);
  report["mint20"] = await mint(b2, 20n);
  report["presale1k"] = await presale(b3, 1000, address);
  await mint(b0, 1n);
  report["transferFirst"] = await send(b0, address, "transferFrom", [b0, b4, 1n]);
  await send(b1, address, "transferFrom", [b1, b4, 2n]);
  report["transferNext"] = await send(b1, address, "transferFrom", [b1, b4, 3n]);
  report["reserve20"] = await send(people.owner, address, "reserveMint", [b5, 20n]);
  report["reveal"] = await send(people.owner, address, "reveal", [scenario.reveal]);
  report["withdraw"] = await send(people.owner, address, "withdrawFees", []);
  await mint(b7, 1n, large.address);
  report["presale5k"] = await presale(b6, 5000, large.address);
  return report;
}

const native: Address = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";
const noProof = { proof: [], quantityLimitPerWallet: 0n, pricePerToken: 2n ** 256n - 1n, currency: native };

/** thirdweb's DropERC721 as its users get it: an ERC-1167 clone, claimed under one condition at a time. */
export async function measureThirdweb(chain: GasChain): Promise<GasReport> {
  const drop = artifact("@thirdweb-dev/contracts/prebuilts/drop/DropERC721.sol/DropERC721");
  const maker = artifact("contracts/CloneMaker.sol/CloneMaker");
  const template = await chain.create(people.admin, drop.abi, drop.bytecode, []);
  const clones = await chain.create(people.admin, maker.abi, maker.bytecode, []);
  const call = (functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi: drop.abi, functionName, args });
  const init = call("initialize", [
    people.owner,
    "Lighthouse Postcards 23",
    "LHP23",
    "",
    [],
    people.treasury,
    people.royalties,
    500n,
    0n,
    people.treasury,
  ]);
  const make = encodeFunctionData({ abi: maker.abi, functionName: "make", args: [template.address, init] });
  const made = await chain.send(people.relayer, clones.address, make);
  const address = `0x${made.logs.at(-1)?.data.slice(-40)}` as Address;
  await chain.send(people.owner, address, call("lazyMint", [5000n, scenario.reveal, "0x"]));

  const open = (merkleRoot: Hex, pricePerToken: bigint) => {
    const condition = {
      startTimestamp: scenario.start,
      maxClaimableSupply: 5000n,
      supplyClaimed: 0n,
      quantityLimitPerWallet: merkleRoot === pad("0x") ? 20n : 0n,
      merkleRoot,
      pricePerToken,
      currency: native,
      metadata: "",
    };
    return chain.send(people.owner, address, call("setClaimConditions", [[condition], true]));
  };
  const claim = async (from: Address, amount: bigint, price: bigint, proof: object) => {
    const data = call("claim", [from, amount, native, price, proof, "0x"]);
    return Number((await chain.send(from, address, data, amount * price)).gasUsed);
  };
  await open(pad("0x"), scenario.priceWei);
  await claim(b7, 1n, scenario.priceWei, noProof);
  const report: GasReport = { deploy: Number(made.gasUsed) };
  report["mint1"] = await claim(b0, 1n, scenario.priceWei, noProof);
  report["mint5"] = await claim(b1, 5n, scenario.priceWei, noProof);
  report["mint20"] = await claim(b2, 20n, scenario.priceWei, noProof);
  await claim(b0, 1n, scenario.priceWei, noProof);
  const transfer = async (from: Address, id: bigint) =>
    Number((await chain.send(from, address, call("transferFrom", [from, b4, id]))).gasUsed);
  report["transferFirst"] = await transfer(b0, 1n);
  await transfer(b1, 2n);
  report["transferNext"] = await transfer(b1, 3n);

  for (const [name, length, buyer] of [
    ["presale1k", 1000, b3],
    ["presale5k", 5000, b6],
  ] as const) {
    const limit = 20n;
    const leaves = scenario
      .addresses(length)
      .map((a) =>
        keccak256(
          concatHex([a, numberToHex(limit, { size: 32 }), numberToHex(scenario.presalePriceWei, { size: 32 }), native]),
        ),
      );
    const tree = merkleTree(leaves);
    await open(tree.root, scenario.presalePriceWei);
    const index = scenario.addresses(length).indexOf(buyer);
    const proof = tree.proof(index);
    report[name] = await claim(buyer, 1n, scenario.presalePriceWei, {
      proof,
      quantityLimitPerWallet: limit,
      pricePerToken: scenario.presalePriceWei,
      currency: native,
    });
  }
  return report;
}
