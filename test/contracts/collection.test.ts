import { type Address, getAddress, parseEther } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allowlist } from "./allowlist-tree.ts";
import { adminRole, chain, defaultAdminRole, never, presalePriceWei, priceWei } from "./setup.ts";

let c: Awaited<ReturnType<typeof chain>>;
beforeAll(async () => {
  c = await chain();
});
afterAll(() => c.connection.close());

const deployments = {
  clone: (...args: Parameters<typeof c.deployClone>) => c.deployClone(...args),
  standalone: (...args: Parameters<typeof c.deployStandalone>) => c.deployStandalone(...args),
};

for (const [kind, deploy] of Object.entries(deployments)) {
  describe(kind, () => {
    const make = (runtime = c.runtimeConfig(), config = c.deploymentConfig()): Promise<Address> =>
      deploy(config, runtime);

    test("mint sells up to tokensPerMint, returns the excess and refuses too little", async () => {
      const address = await make();
      const buyer = c.collection(address, 5);
      await expect(buyer.write.mint([1n])).rejects.toThrow("Payment too small");
      await expect(buyer.write.mint([6n], { value: 6n * priceWei })).rejects.toThrow("Amount too large");
      await expect(buyer.write.mint([0n])).rejects.toThrow("MintZeroQuantity");
      await buyer.write.mint([5n], { value: parseEther("1") });
      expect(await buyer.read.balanceOf([c.wallet(5).account.address])).toBe(5n);
      expect(await c.client.getBalance({ address })).toBe(5n * priceWei);
      expect(await buyer.read.tokenURI([4n])).toBe("ipfs://prereveal");
    });

    test("the public sale opens after its start and never opens at 2^256-1", async () => {
      const closed = c.collection(await make(c.runtimeConfig({ publicMintStart: never })), 5);
      expect(await closed.read.publicMintStart()).toBe(never);
      await expect(closed.write.mint([1n], { value: priceWei })).rejects.toThrow("Minting has not started yet");
    });

    test("the presale admits each listed wallet once, by its own proof", async () => {
      const listed = [5, 6, 7, 8, 9].map((index) => c.wallet(index).account.address);
      const { root, proof } = allowlist(listed);
      const address = await make(c.runtimeConfig({ presaleMerkleRoot: root, publicMintStart: never }));
      for (const index of [5, 9]) {
        const wallet = c.wallet(index).account.address;
        const buyer = c.collection(address, index);
        expect(await buyer.read.isWhitelisted([wallet, proof(wallet)])).toBe(true);
        await buyer.write.presaleMint([2n, proof(wallet)], { value: 2n * presalePriceWei });
        await expect(buyer.write.presaleMint([1n, proof(wallet)], { value: presalePriceWei })).rejects.toThrow(
          "Already minted",
        );
      }
      const outsider = c.collection(address, 10);
      const stolen = proof(c.wallet(6).account.address);
      await expect(outsider.write.presaleMint([1n, stolen], { value: presalePriceWei })).rejects.toThrow(
        "Not whitelisted for presale",
      );
    });

    test("a presale start of zero means no presale", async () => {
      const buyer = c.collection(await make(c.runtimeConfig({ presaleMintStart: 0n })), 5);
      expect(await buyer.read.presaleActive()).toBe(false);
      await expect(buyer.write.presaleMint([1n, []], { value: presalePriceWei })).rejects.toThrow(
        "Presale has not started yet",
      );
    });

    test("the reserve is minted by an admin and is not for sale", async () => {
      const config = c.deploymentConfig({ maxSupply: 12n, reservedSupply: 10n });
      const address = await make(c.runtimeConfig(), config);
      const owner = c.collection(address);
      const to = c.wallet(6).account.address;
      await expect(c.collection(address, 5).write.reserveMint([to, 1n])).rejects.toThrow(
        `AccessControl: account ${c.wallet(5).account.address.toLowerCase()} is missing role ${adminRole}`,
      );
      await owner.write.mint([2n], { value: 2n * priceWei });
      await expect(owner.write.mint([1n], { value: priceWei })).rejects.toThrow("Not enough tokens left");
      await owner.write.reserveMint([to, 10n]);
      await expect(owner.write.reserveMint([to, 1n])).rejects.toThrow("Not enough reserved");
      expect(await owner.read.totalSupply()).toBe(12n);
      expect(await owner.read.ownerOf([11n])).toBe(getAddress(to));
    });

    test("a reveal changes every token's URI and says so in an ERC-4906 log", async () => {
      const address = await make();
      const owner = c.collection(address);
      await owner.write.mint([3n], { value: 3n * priceWei });
      const hash = await owner.write.updateConfig([c.runtimeConfig({ baseURI: "ipfs://folder/" })]);
      const { logs } = await c.client.getTransactionReceipt({ hash });
      expect(logs.map((log) => [log.topics, log.data])).toEqual([
        [
          ["0x6bd5c950a8d8df17f772f5af37cb3655737899cbf903264b9795592da439661c"],
          `0x${"0".repeat(64)}${"2".padStart(64, "0")}`,
        ],
      ]);
      expect(await owner.read.tokenURI([2n])).toBe("ipfs://folder/2");
      await expect(owner.read.tokenURI([3n])).rejects.toThrow("Token does not exist");
    });

    test("frozen prices and frozen metadata stay", async () => {
      const frozen = c.runtimeConfig({ metadataUpdatable: false, baseURI: "ipfs://a/" });
      const owner = c.collection(await make(frozen));
      const update = (changes: Partial<typeof frozen>) => owner.write.updateConfig([{ ...frozen, ...changes }]);
      await expect(update({ publicMintPrice: 1n })).rejects.toThrow("publicMintPrice is frozen");
      await expect(update({ publicMintPriceFrozen: false })).rejects.toThrow("publicMintPriceFrozen is frozen");
      await expect(update({ presaleMintPrice: 1n })).rejects.toThrow("presaleMintPrice is frozen");
      await expect(update({ presaleMintPriceFrozen: false })).rejects.toThrow("presaleMintPriceFrozen is frozen");
      await expect(update({ metadataUpdatable: true })).rejects.toThrow("Cannot unfreeze metadata");
      await expect(update({ baseURI: "ipfs://b/" })).rejects.toThrow("Metadata is frozen");
      await expect(update({ prerevealTokenURI: "" })).rejects.toThrow("Metadata is frozen");
      await expect(update({ royaltiesBps: 10001n })).rejects.toThrow("Royalties too high");
      await update({ publicMintStart: 7n, royaltiesBps: 10000n });
      expect(await owner.read.royaltyInfo([0n, 200n])).toEqual([getAddress(frozen.royaltiesAddress), 200n]);
    });

    test("fees go to the treasury, by an admin only", async () => {
      const address = await make();
      await c.collection(address, 5).write.mint([2n], { value: 2n * priceWei });
      await expect(c.collection(address, 5).write.withdrawFees()).rejects.toThrow("is missing role");
      const treasury = c.treasury.account.address;
      const before = await c.client.getBalance({ address: treasury });
      await c.collection(address).write.withdrawFees();
      expect(await c.client.getBalance({ address: treasury })).toBe(before + 2n * priceWei);
    });

    test("ownership moves with both roles, and the owner can revoke the service admin", async () => {
      const address = await make();
      const owner = c.collection(address);
      const heir = c.wallet(7).account.address;
      await owner.write.grantRole([adminRole, c.relayer.account.address]);
      await owner.write.revokeRole([adminRole, c.relayer.account.address]);
      expect(await owner.read.hasRole([adminRole, c.relayer.account.address])).toBe(false);
      await owner.write.transferOwnership([heir]);
      expect(await owner.read.owner()).toBe(getAddress(heir));
      for (const role of [adminRole, defaultAdminRole]) {
        expect(await owner.read.hasRole([role, heir])).toBe(true);
        expect(await owner.read.hasRole([role, c.owner.account.address])).toBe(false);
      }
      await expect(owner.write.withdrawFees()).rejects.toThrow("is missing role");
    });
  });
}
