// Our collection compared with what the field uses, measured in one run: npm run -s mintyard -- dev bench gas
//   node bench/gas/bench-gas.ts [edr|osaka]
import { gasChain, measureGas } from "../../test/contracts/gas-scenario.ts";
import { measureProductGas } from "../../test/contracts/product-gas-scenario.ts";
import { buildPeers, measureThinDrop, measureThirdweb } from "./peers.ts";
import { measureCompositions, measureThirdwebTokens } from "./product-peers.ts";

const network = process.argv[2] === "osaka" ? "osaka" : "edr";
const columns = ["deploy", "mint1", "mint5", "mint20", "presale1k", "presale5k", "transferFirst", "transferNext"];
columns.push("reserve20", "reveal", "withdraw");
/** The chain's own minimum for the same effects; contracts.md section 6. */
const floor = {
  deploy: 149_600,
  mint1: 74_930,
  mint5: 82_430,
  mint20: 110_550,
  presale1k: 81_500,
  presale5k: 83_400,
  transferFirst: 58_560,
  transferNext: 65_660,
  reserve20: 113_500,
  reveal: 106_000,
  withdraw: 35_100,
};

buildPeers();
const ours = await measureGas(network);
const peers: Record<string, Record<string, number>> = {
  "mintyard, clone": ours.clone,
  "mintyard, standalone": ours.standalone,
};
for (const name of ["Erc721aDrop", "SoladyDrop", "OpenZeppelinDrop"]) {
  const chain = await gasChain(network);
  peers[name] = await measureThinDrop(chain, name);
  await chain.close();
}
const chain = await gasChain(network);
peers["thirdweb DropERC721, clone"] = await measureThirdweb(chain);
await chain.close();
peers["floor, clone"] = floor;

console.log(`Gas, hardfork ${network === "edr" ? "prague" : "osaka"}, solc 0.8.37, 200 runs\n`);
print(peers, columns);
console.log("\nRatio to mintyard, clone (above 1: dearer than ours)\n");
printRatios(peers, columns, ours.clone);

const products = await measureProductGas(network);
const productPeers: Record<string, Record<string, number>> = {
  "mintyard product, clone": products.clone,
  "mintyard product, standalone": products.standalone,
};
for (const [name, measure] of [
  ["OpenZeppelin 4.9 composition", measureCompositions],
  ["thirdweb TokenERC721 and TokenERC1155, clones", measureThirdwebTokens],
] as const) {
  const each = await gasChain(network);
  productPeers[name] = await measure(each);
  await each.close();
}
const productColumns = ["deploy721", "mint721", "mint721Text", "transfer721", "updateUri721", "burn721"];
productColumns.push("deploy1155", "mint1155", "mint1155Text", "transfer1155", "burn1155");
console.log("\nProducts\n");
print(productPeers, productColumns);
console.log("\nRatio to mintyard product, clone\n");
printRatios(productPeers, productColumns, products.clone);
console.log("\nThrough the operator:", products.operator);
process.exit(0);

type Rows = Record<string, Record<string, number>>;

function print(rows: Rows, names: readonly string[]): void {
  table(rows, names, (name, column) => rows[name]?.[column]?.toLocaleString("en") ?? "-");
}

function printRatios(rows: Rows, names: readonly string[], own: Record<string, number>): void {
  table(rows, names, (name, column) => {
    const [value, ours] = [rows[name]?.[column], own[column]];
    return value && ours ? (value / ours).toFixed(2) : "-";
  });
}

function table(rows: Rows, names: readonly string[], cell: (name: string, column: string) => string): void {
  console.log(`| |${names.join("|")}|\n|-|${names.map(() => "-:").join("|")}|`);
  for (const name of Object.keys(rows)) {
    console.log(`|${name}|${names.map((column) => cell(name, column)).join("|")}|`);
  }
}
