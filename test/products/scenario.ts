import { randomBytes } from "node:crypto";
import { type Address, createWalletClient, http, parseAbi } from "viem";
import type { Caller } from "../../src/auth/caller.ts";
import { type CarriedOut, carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { type MintInput, mintTokens } from "../../src/products/mint-tokens.ts";
import type { Services } from "../../src/services.ts";
import type { ProductType } from "../../src/transactions/store/payloads.ts";
import { createTestDatabase } from "../setup/database.ts";
import { RelayHarness, randomAddress } from "../transactions/harness.ts";

export const uri = "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii";

export const productReads = parseAbi([
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
  "function balanceOf(address account, uint256 id) view returns (uint256)",
  "function totalSupply(uint256 id) view returns (uint256)",
  "function owner() view returns (address)",
  "function baseURI() view returns (string)",
  "function royaltiesBasisPoints() view returns (uint256)",
]);

/** A chain with the operator of product contracts, a database, one process and one account. */
export class ProductScenario {
  readonly h: RelayHarness;
  readonly services: Services;
  readonly caller: Caller;

  private constructor(h: RelayHarness, services: Services, caller: Caller) {
    this.h = h;
    this.services = services;
    this.caller = caller;
  }

  static async start(): Promise<ProductScenario> {
    const h = await RelayHarness.start(createTestDatabase, { withOperator: true });
    const services = h.process();
    return new ProductScenario(h, services, await h.caller("growth"));
  }

  async stop(): Promise<void> {
    await this.h.stop();
  }

  /** A contract that stands, its owner a wallet of the node where none is given. */
  async contract(type: ProductType = "erc721", owner?: Address): Promise<Address> {
    const operation = await createContract(this.services, this.caller, {
      ...{ chain: "goerli", name: `Product ${randomBytes(4).toString("hex")}`, symbol: "PRD", type },
      ...{ ownerAddress: owner ?? (await this.unlocked()), metadataUpdatable: true, royaltiesBps: 500n },
    });
    const done = await carryOut(this.services, this.caller, operation);
    await this.ended(done);
    return done.request.contract;
  }

  /** An account that the node signs for. */
  async unlocked(): Promise<Address> {
    const [, first] = (await this.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
    if (!first) throw new Error("the node has no accounts");
    return first.toLowerCase() as Address;
  }

  async mint(input: Omit<MintInput, "chain">, services = this.services): Promise<CarriedOut> {
    return await carryOut(
      services,
      this.caller,
      await mintTokens(services, this.caller, { chain: "goerli", ...input }),
    );
  }

  /** Runs the worker until a request has ended well. */
  async ended({ request }: Pick<CarriedOut, "request">, states: readonly string[] = ["finalized"]): Promise<void> {
    await this.h.until(this.services, request.id, states);
  }

  /** What the contract's owner calls by itself. */
  async asOwner(contract: Address, call: string): Promise<void> {
    const wallet = createWalletClient({ transport: http(this.h.node.url) });
    const hash = await wallet.writeContract({
      ...{ account: await this.unlocked(), address: contract, abi: parseAbi([`function ${call}()`] as never) },
      ...{ functionName: call as never, args: [] as never, chain: null },
    });
    await this.h.chain.waitForTransactionReceipt({ hash });
  }

  /** Transactions that the paying wallet has sent. */
  async sent(): Promise<number> {
    return await this.h.chain.getTransactionCount({ address: this.h.relayer, blockTag: "pending" });
  }
}

export { randomAddress };
