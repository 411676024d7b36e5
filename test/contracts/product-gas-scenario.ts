import {
  type Abi,
  type Address,
  concatHex,
  encodeFunctionData,
  getCreateAddress,
  type Hex,
  keccak256,
  numberToHex,
  parseEventLogs,
  toHex,
} from "viem";
import { erc721ProductAbi, erc721ProductBytecode } from "../../contracts/abi/erc721-product.ts";
import { erc1155ProductAbi, erc1155ProductBytecode } from "../../contracts/abi/erc1155-product.ts";
import { productOperatorAbi, productOperatorBytecode } from "../../contracts/abi/product-operator.ts";
import { type GasChain, type GasReport, gasChain, people } from "./gas-scenario.ts";

export type ProductGas = { operator: GasReport; clone: GasReport; standalone: GasReport };

/** A product as the service deploys it; the same for every peer. */
export const productScenario = {
  name: "Lighthouse Postcards 23",
  symbol: "LHP23",
  baseUri: "",
  /** CIDv1 of the raw block "hello world\n", and a URI of the same length that is none. */
  cidUri: "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4",
  otherUri: "https://example.org/a/rather/long/path/of/sixty/six/bytes/in/all/1",
  holder: (index: number): Address => `0x${keccak256(toHex(`product holder ${index}`)).slice(-40)}`,
};

/** Intents that share a storage word. Those of the service have names of their own, which cost 17,100 gas more each. */
const intent = (index: number): Hex =>
  concatHex([keccak256(toHex("product intents")).slice(0, 64) as Hex, numberToHex(index, { size: 1 })]);

/** Gas of products through the operator and called directly; every address, id and amount is fixed. */
export async function measureProductGas(network: "edr" | "osaka"): Promise<ProductGas> {
  const chain = await gasChain(network);
  try {
    const made = await chain.create(people.admin, productOperatorAbi as Abi, productOperatorBytecode, [
      people.admin,
      people.relayer,
    ]);
    const operator = operatorOf(chain, made.address);
    const bytes = async (nonce: bigint) => {
      const code = await chain.client.getCode({ address: getCreateAddress({ from: made.address, nonce }) });
      return (code?.length ?? 2) / 2 - 1;
    };
    const report: ProductGas = {
      operator: {
        operatorWithTemplates: made.gas,
        template721Bytes: await bytes(1n),
        template1155Bytes: await bytes(2n),
      },
      clone: {},
      standalone: {},
    };
    const first = await operator.deploy("deployERC721");
    report.clone["deploy721"] = (await operator.deploy("deployERC721")).gas;
    report.clone["deploy1155"] = (await operator.deploy("deployERC1155")).gas;
    await measureOperator(operator, first.address, report.operator);

    const configs = productConfigs();
    for (const kind of ["clone", "standalone"] as const) {
      const alone = (abi: Abi, bytecode: Hex) => chain.create(people.relayer, abi, bytecode, configs);
      const erc721 =
        kind === "clone" ? await operator.deploy("deployERC721") : await alone(erc721ProductAbi, erc721ProductBytecode);
      const erc1155 =
        kind === "clone"
          ? await operator.deploy("deployERC1155")
          : await alone(erc1155ProductAbi, erc1155ProductBytecode);
      if (kind === "standalone") Object.assign(report[kind], { deploy721: erc721.gas, deploy1155: erc1155.gas });
      Object.assign(report[kind], await measure721(chain, erc721.address, erc721ProductAbi));
      Object.assign(report[kind], await measure1155(chain, erc1155.address, erc1155ProductAbi));
    }
    return report;
  } finally {
    await chain.close();
  }
}

/** The three records of a deployment; the owner mints, so that no role has to be granted. */
function productConfigs() {
  const { name, symbol, baseUri } = productScenario;
  return [
    { name, symbol, owner: people.owner, tokensBurnable: true },
    {
      baseURI: baseUri,
      metadataUpdatable: true,
      tokensTransferable: true,
      royaltiesBps: 500n,
      royaltiesAddress: people.royalties,
    },
    [],
  ] as const;
}

function operatorOf(chain: GasChain, address: Address) {
  let intents = 0;
  const send = (data: Hex) => chain.send(people.relayer, address, data);
  const next = () => {
    intents += 1;
    return intent(intents);
  };
  return {
    async deploy(functionName: "deployERC721" | "deployERC1155") {
      const args = [next(), ...productConfigs()] as const;
      const receipt = await send(encodeFunctionData({ abi: productOperatorAbi, functionName, args }));
      const [log] = parseEventLogs({ abi: productOperatorAbi, eventName: "ProductDeployed", logs: receipt.logs });
      if (!log) throw new Error("no product");
      return { address: log.args.product, gas: Number(receipt.gasUsed) };
    },
    async execute(target: Address, data: Hex) {
      const args = [next(), target, data] as const;
      return Number(
        (await send(encodeFunctionData({ abi: productOperatorAbi, functionName: "execute", args }))).gasUsed,
      );
    },
    async batch(target: Address, inputs: readonly Hex[]) {
      const args = [inputs.map((data) => ({ intent: next(), target, data }))] as const;
      return Number(
        (await send(encodeFunctionData({ abi: productOperatorAbi, functionName: "executeBatch", args }))).gasUsed,
      );
    },
  };
}

async function measureOperator(
  operator: ReturnType<typeof operatorOf>,
  product: Address,
  report: GasReport,
): Promise<void> {
  const mint = (id: number) =>
    encodeFunctionData({
      abi: erc721ProductAbi,
      functionName: "mintToCaller",
      args: [productScenario.holder(id), BigInt(id), productScenario.cidUri],
    });
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);
  await operator.execute(product, mint(1));
  report["mint721"] = await operator.execute(product, mint(2));
  report["batch1Of721"] = await operator.batch(product, [mint(3)]);
  report["batch20Of721"] = await operator.batch(product, ids(10, 20).map(mint));
}

/** An ERC-721 whose owner mints, whatever its code. */
export async function measure721(chain: GasChain, address: Address, abi: Abi): Promise<GasReport> {
  const { holder, cidUri, otherUri } = productScenario;
  const send = async (from: Address, functionName: string, args: readonly unknown[]) =>
    Number((await chain.send(from, address, encodeFunctionData({ abi, functionName, args }))).gasUsed);
  const mint = (to: Address, id: bigint, uri: string) => send(people.owner, "mintToCaller", [to, id, uri]);
  const [buyer, other] = people.buyers as [Address, Address];
  await mint(holder(100), 100n, cidUri);
  const report: GasReport = {};
  report["mint721"] = await mint(holder(101), 101n, cidUri);
  report["mint721Text"] = await mint(holder(102), 102n, otherUri);
  await mint(buyer, 103n, cidUri);
  await mint(buyer, 104n, cidUri);
  await mint(other, 105n, cidUri);
  report["transfer721"] = await send(buyer, "transferFrom", [buyer, other, 103n]);
  report["updateUri721"] = await send(people.owner, "updateTokenUri", [104n, cidUri.replace("i4", "iy"), false]);
  await mint(people.owner, 106n, cidUri);
  await mint(people.owner, 107n, cidUri);
  report["burn721"] = await send(people.owner, "burn", [106n]);
  return report;
}

/** An ERC-1155 whose owner mints, whatever its code. */
export async function measure1155(chain: GasChain, address: Address, abi: Abi): Promise<GasReport> {
  const { holder, cidUri, otherUri } = productScenario;
  const send = async (from: Address, functionName: string, args: readonly unknown[]) =>
    Number((await chain.send(from, address, encodeFunctionData({ abi, functionName, args }))).gasUsed);
  const mint = (to: Address, id: bigint, uri: string) => send(people.owner, "mintByOwner", [to, id, 10n, uri]);
  const [buyer, other] = people.buyers as [Address, Address];
  await mint(holder(100), 100n, cidUri);
  const report: GasReport = {};
  report["mint1155"] = await mint(holder(101), 101n, cidUri);
  report["mint1155Text"] = await mint(holder(102), 102n, otherUri);
  await mint(buyer, 103n, cidUri);
  report["transfer1155"] = await send(buyer, "safeTransferFrom", [buyer, other, 103n, 1n, "0x"]);
  await mint(people.owner, 106n, cidUri);
  report["burn1155"] = await send(people.owner, "burn", [106n, 1n]);
  return report;
}
