import { type Hex, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chain, priceWei } from "./setup.ts";

let c: Awaited<ReturnType<typeof chain>>;
beforeAll(async () => {
  c = await chain();
});
afterAll(() => c.connection.close());

/** Code that answers every call with nothing: no `onERC721Received`. */
const mute: Hex = "0x6001600c60003960016000f300";

test("V19: a wallet that delegated its code by EIP-7702 mints, and contracts that move tokens to it are asked", async () => {
  const collection = await c.deployClone(c.deploymentConfig(), c.runtimeConfig());
  const wallet = privateKeyToAccount(generatePrivateKey());
  await c.connection.networkHelpers.setBalance(wallet.address, 10n ** 18n);
  const hash = await c.owner.deployContract({ abi: [], bytecode: mute });
  const { contractAddress } = await c.client.waitForTransactionReceipt({ hash });
  if (!contractAddress) throw new Error("no delegate");

  const authorization = await wallet.signAuthorization({
    contractAddress,
    chainId: await c.client.getChainId(),
    nonce: 1,
  });
  const signed = await wallet.signTransaction({
    type: "eip7702",
    chainId: await c.client.getChainId(),
    nonce: 0,
    to: zeroAddress,
    gas: 100_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    authorizationList: [authorization],
  });
  await c.client.waitForTransactionReceipt({
    hash: await c.client.sendRawTransaction({ serializedTransaction: signed }),
  });
  expect(await c.client.getCode({ address: wallet.address })).toBe(`0xef0100${contractAddress.slice(2).toLowerCase()}`);

  const mint = await wallet.signTransaction({
    type: "eip1559",
    chainId: await c.client.getChainId(),
    nonce: 2,
    to: collection,
    data: "0xa0712d680000000000000000000000000000000000000000000000000000000000000002",
    value: 2n * priceWei,
    gas: 200_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
  });
  const receipt = await c.client.waitForTransactionReceipt({
    hash: await c.client.sendRawTransaction({ serializedTransaction: mint }),
  });
  expect(receipt.status).toBe("success");
  expect(await c.collection(collection).read.balanceOf([wallet.address])).toBe(2n);

  // Somebody else mints to it: the standard's question is put, and its code does not answer.
  await expect(c.collection(collection).write.reserveMint([wallet.address, 1n])).rejects.toThrow(
    "TransferToNonERC721ReceiverImplementer",
  );
});
