import type { ResultOf, VariablesOf } from "gql.tada";
import { graphql } from "../../../client/src/graphql.ts";
import { formatFee, parseEther } from "../../shared/amounts.ts";
import type { Wallet } from "../../shared/wallets.ts";
import { api } from "../api.ts";
import type { InstalledChain } from "../installation.ts";
import { type Draft, readAllowlist } from "./draft.ts";

const prepareQuery = graphql(`mutation ($input: DeployCollectionInput!, $sender: Address!) {
  deployCollection(input: $input, mode: SIGN, sender: $sender) {
    transaction { to data valueWei gas expectedAddress } warnings userErrors { field message }
  }
}`);
const reportQuery = graphql(`mutation ($chain: ChainName!, $hash: Hex!) {
  reportDeployment(chain: $chain, transactionHash: $hash) { collection userErrors { code message } }
}`);

/** The launch as GraphQL takes it. */
function inputOf(draft: Draft): VariablesOf<typeof prepareQuery>["input"] {
  const time = (text: string) => new Date(text).toISOString();
  const wei = (text: string) => String(parseEther(text) ?? text);
  return {
    ...{ chain: draft.chain, name: draft.name.trim(), symbol: draft.symbol.trim(), maxSupply: String(draft.supply) },
    ...{ reservedSupply: draft.reserve || "0", tokensPerMint: draft.perMint, mintPriceWei: wei(draft.price) },
    ...{ owner: draft.owner.trim(), treasury: (draft.treasury || draft.owner).trim() },
    ...{ publicMintStart: time(draft.publicStart), royaltiesBps: Math.round(Number(draft.royalties) * 100) },
    ...(draft.hidden ? { prerevealTokenUri: draft.placeholderUri } : { baseUri: draft.baseUri }),
    ...(draft.presaleStart === ""
      ? {}
      : {
          presaleMintStart: time(draft.presaleStart),
          presaleMintPriceWei: wei(draft.presalePrice || draft.price),
          allowlist: readAllowlist(draft.allowlist).wallets,
        }),
  };
}

/**
 * Has the creator's own wallet send the deployment. The wallet pays and becomes the collection's admin.
 *
 * @param say is called before the wallet asks, with what it will ask for and the cost.
 * @returns the transaction's hash, which has been reported to the server.
 * @throws errors of the wallet or the server.
 */
export async function deployWithWallet(
  draft: Draft,
  { provider }: Wallet,
  chain: InstalledChain,
  say: (text: string) => void,
  sent: (hash: string) => void,
): Promise<string> {
  const ask = async <T>(method: string, ...params: unknown[]) => (await provider.request({ method, params })) as T;
  const [from = ""] = await ask<string[]>("eth_requestAccounts");
  const chainId = `0x${chain.id.toString(16)}`;
  if (Number(await ask<string>("eth_chainId")) !== chain.id) await ask("wallet_switchEthereumChain", { chainId });
  const { deployCollection } = await api.graphql(prepareQuery, { input: inputOf(draft), sender: from });
  const { transaction = null, warnings = [], userErrors = [] } = deployCollection ?? {};
  if (!transaction) throw new Error(userErrors.map(({ message }) => message).join("; ") || "Nothing was prepared.");
  const call = { from, data: transaction.data, value: `0x${BigInt(transaction.valueWei).toString(16)}` };
  const gas = BigInt(transaction.gas ?? (await ask<string>("eth_estimateGas", call)));
  const fee = gas * BigInt(await ask<string>("eth_gasPrice"));
  const cost = `Confirm in your wallet: the deployment costs about ${formatFee(fee)} ${chain.coin}.`;
  say([cost, ...warnings].join(" "));
  const hash = await ask<string>("eth_sendTransaction", { ...call, gas: `0x${gas.toString(16)}` });
  sent(hash);
  return hash;
}

type Refusal = NonNullable<ResultOf<typeof reportQuery>["reportDeployment"]>["userErrors"][number];

/** Reports the transaction to the server. @returns why the server does not accept it; null when it does. */
export async function reportOwnDeployment(chain: string, hash: string): Promise<Refusal | null> {
  const { reportDeployment } = await api.graphql(reportQuery, { chain, hash });
  return reportDeployment?.userErrors[0] ?? null;
}
