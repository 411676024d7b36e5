// Our collection beside what its field uses, measured in one run: npm run -s mintyard -- dev bench gas
//   node bench/gas/bench-gas.ts [edr|osaka]
import { gasChain, measureGas } from "../../test/contracts/gas-scenario.ts";
import { buildPeers, measureThinDrop, measureThirdweb } from "./peers.ts";

const network = process.argv[2] === "osaka" ? "osaka" : "edr";
const columns = ["deploy", "mint1", "mint5", "mint20", "presale1k", "presale5k", "transferFirst", "transferNext"];
columns.push("reserve20", "reveal", "withdraw");
/** What the chain itself takes for the same effects; contracts.md section 6. */
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
print((name, column) => peers[name]?.[column]?.toLocaleString("en") ?? "-");
console.log("\nRatio to mintyard, clone (above 1: dearer than ours)\n");
print((name, column) => {
  const [value, own] = [peers[name]?.[column], ours.clone[column]];
  return value && own ? (value / own).toFixed(2) : "-";
});
process.exit(0);

function print(cell: (name: string, column: string) => string): void {
  console.log(`| |${columns.join("|")}|\n|-|${columns.map(() => "-:").join("|")}|`);
  for (const name of Object.keys(peers)) {
    console.log(`|${name}|${columns.map((column) => cell(name, column)).join("|")}|`);
  }
}
