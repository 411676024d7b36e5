import { useQuery } from "@tanstack/react-query";
import { type InstalledChain, useWallets } from "../installation.ts";

/** What is at an address: an account with a key only, one that delegates to code (EIP-7702), or a contract. */
type AccountKind = "account" | "delegated" | "contract";

const delegation = /^0xef0100[0-9a-f]{40}$/i;

function kindOf(code: string): AccountKind {
  if (code === "0x") return "account";
  return delegation.test(code) ? "delegated" : "contract";
}

/** According to a wallet of this browser that is on the chain; null: there is none, so it is not known. */
function useAccountKind(chain: InstalledChain, address: string) {
  const wallets = useWallets();
  return useQuery({
    queryKey: ["code", chain.id, address.toLowerCase(), wallets.map(({ id }) => id)],
    queryFn: async () => {
      for (const { provider } of wallets) {
        const ask = async (method: string, params: unknown[] = []) =>
          String(await provider.request({ method, params }).catch(() => ""));
        if (Number(await ask("eth_chainId")) !== chain.id) continue;
        const code = await ask("eth_getCode", [address, "latest"]);
        if (/^0x/.test(code)) return kindOf(code);
      }
      return null;
    },
  });
}

const warnings = {
  treasury:
    "The treasury is a contract. What it cannot pass on stays in it for ever: be sure that it is yours, on this network, and can send what it gets.",
  owner: "The owner is a contract. Be sure that it is yours, on this network, and can call the collection.",
};

/** Warns of an address that is a contract: money is lost in one of another network, or in one that cannot send. */
export function AccountWarning(props: { chain: InstalledChain; address: string; party: "treasury" | "owner" }) {
  const { chain, address, party } = props;
  const { data: kind, isPending } = useAccountKind(chain, address);
  if (isPending || kind === "account") return null;
  if (kind === "contract") return <p className="notice warn">{warnings[party]}</p>;
  if (kind === "delegated")
    return <p className="notice warn">This account runs code of its own (EIP-7702), which decides what it may do.</p>;
  return (
    <p className="small quiet">
      Whether this is a contract is not known here: no wallet of this browser is on {chain.name}.
    </p>
  );
}
