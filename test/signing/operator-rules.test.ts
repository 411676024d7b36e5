import { randomUUID } from "node:crypto";
import { type Address, encodeFunctionData, type Hex, parseAbi, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import {
  encodeBurn,
  encodeDeployProduct,
  encodeMint,
  encodeTokenUpdate,
  encodeTransfer,
} from "../../src/products/product-calls.ts";
import { operatorSelectors } from "../../src/signing/operator-calls.ts";
import { checkOrder, type SigningPolicy } from "../../src/signing/rules.ts";
import { encodeUpdateProduct } from "../../src/transactions/chain/product-record.ts";
import { intentName } from "../../src/transactions/chain/request-call.ts";

const operator: Address = `0x${"77".repeat(20)}`;
const contract: Address = `0x${"88".repeat(20)}`;
const wallet: Address = `0x${"99".repeat(20)}`;
const policy: SigningPolicy = {
  ...{
    chainId: 31337,
    maxFeeWei: 10n ** 12n,
    factories: [],
    operators: [operator],
    wallets: [wallet],
    roles: false,
    dayWei: null,
  },
};
const abi = productOperatorAbi;
const name = intentName(randomUUID());

function check(data: Hex, roles = false): void {
  const fees = { gas: 500_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
  const transaction = { chainId: 31337, to: operator, data, value: 0n, nonce: 0, ...fees };
  checkOrder({ ...policy, roles }, wallet, { kind: "operate", transaction });
}

const execute = (call: Hex, intent = name) =>
  encodeFunctionData({ abi, functionName: "execute", args: [intent, contract, call] });
const token = { tokenId: "1", to: wallet, uri: "ipfs://x", quantity: "2" };
const runtime = {
  ...{ baseURI: "", metadataUpdatable: true, tokensTransferable: true, royaltiesBps: 1n, royaltiesAddress: wallet },
};
const deployment = { name: "N", symbol: "S", owner: wallet, tokensBurnable: true };

test("the selectors of the rules are those of the operator", () => {
  for (const [functionName, selector] of Object.entries(operatorSelectors)) {
    const item = abi.find((each) => each.type === "function" && each.name === functionName);
    expect(item?.type === "function" && toFunctionSelector(item)).toBe(selector);
  }
});

describe("of the operator's calls the rules allow", () => {
  test("every one that the service makes", () => {
    for (const type of ["erc721", "erc1155"] as const) {
      for (const tokens of type === "erc721" ? [[token]] : [[token], [token, token]])
        for (const encode of [encodeMint, encodeTransfer, encodeBurn]) check(execute(encode(type, tokens)));
      check(encodeDeployProduct(type, name, deployment, runtime, []));
    }
    check(execute(encodeTokenUpdate({ tokenId: "1", uri: "ipfs://y" })));
    check(execute(encodeUpdateProduct(runtime, [], false)));
  });

  const batch = (...calls: { intent: Hex; data: Hex }[]) =>
    encodeFunctionData({
      ...{ abi, functionName: "executeBatch" },
      args: [calls.map((call) => ({ ...call, target: contract }))],
    });

  test("a batch of them, and none where one of its calls is none of them", () => {
    const mint = encodeMint("erc721", [token]);
    check(batch({ intent: name, data: mint }, { intent: intentName(randomUUID()), data: mint }));
    const grant = encodeFunctionData({
      ...{ abi: parseAbi(["function grantRole(bytes32,address)"]), args: [name, wallet], functionName: "grantRole" },
    });
    expect(() => check(batch({ intent: name, data: mint }, { intent: name, data: grant }))).toThrow("mints, updates");
    expect(() => check(batch({ intent: `0x${"11".repeat(32)}`, data: mint }))).toThrow("name");
    expect(() => check(batch())).toThrow("cannot be read");
  });

  describe("no list of roles and no end of the service's rights", () => {
    const roles = [{ role: "mint" as const, addresses: [wallet], freeze: false }];
    const cleared = [{ role: "mint" as const, addresses: [], freeze: false }];
    const lists = [
      execute(encodeUpdateProduct(runtime, roles, false)),
      execute(encodeUpdateProduct(runtime, cleared, false)),
      execute(encodeUpdateProduct(runtime, [], true)),
      batch(
        { intent: name, data: encodeMint("erc721", [token]) },
        { intent: name, data: encodeUpdateProduct(runtime, roles, false) },
      ),
    ];

    test.each(lists.map((data, index) => ({ index, data })))("in call $index, unless roles are signed", ({ data }) => {
      expect(() => check(data)).toThrow("SIGN_ROLES_<CHAIN>");
      check(data, true);
    });

    test("but those that a contract is made with are", () => {
      check(encodeDeployProduct("erc721", name, deployment, runtime, roles));
      check(encodeDeployProduct("erc1155", name, deployment, runtime, cleared));
    });

    test("hidden in bytes that another decoder may read otherwise", () => {
      const plain = encodeUpdateProduct(runtime, [], false);
      for (const data of [
        execute(`${plain}00`),
        `${execute(plain)}${"00".repeat(32)}` as Hex,
        execute(plain.replace(/^(0x.{8}).{64}/, `$1${"f".repeat(64)}`) as Hex),
        `${encodeDeployProduct("erc721", name, deployment, runtime, [])}00` as Hex,
      ])
        for (const allowed of [false, true]) expect(() => check(data, allowed)).toThrow("cannot be read");
    });
  });

  test("none under another name than a request's, or of what is the owner's", () => {
    const mint = encodeMint("erc721", [token]);
    expect(() => check(execute(mint, `0x${"11".repeat(32)}`))).toThrow("name");
    const owners = parseAbi(["function transferOwnership(address)", "function grantRole(bytes32,address)"]);
    for (const call of [
      encodeFunctionData({ abi: owners, functionName: "transferOwnership", args: [wallet] }),
      encodeFunctionData({ abi: owners, functionName: "grantRole", args: [name, wallet] }),
      "0x" as const,
    ])
      expect(() => check(execute(call))).toThrow("mints, updates, burns and transfers");
    expect(() => check(`${execute(mint).slice(0, 300)}` as Hex)).toThrow("cannot be read");
  });
});
