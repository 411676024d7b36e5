import type { Address, Hex } from "viem";
import { privateKeyToAddress, sign } from "viem/accounts";
import { keccak256 } from "viem/utils";
import { checkOrder, type SigningPolicy } from "./rules.ts";
import { encodeTransaction, type Signer } from "./signer.ts";

/** @returns a wallet whose key lies in this process; it signs whatever it is asked to. */
export function keySigner(key: Hex): Signer {
  return {
    address: privateKeyToAddress(key).toLowerCase() as Address,
    sign: async ({ transaction }) =>
      await sign({ hash: keccak256(encodeTransaction(transaction)), privateKey: key, to: "hex" }),
    inProcess: true,
  };
}

/** The same wallet under the rules of signing. @param admin what it is asked for comes from an operator's command. */
export function underRules(signer: Signer, policy: SigningPolicy, admin: boolean): Signer {
  return {
    ...signer,
    sign: async (order) => {
      checkOrder(policy, signer.address, order, admin);
      return await signer.sign(order);
    },
  };
}
