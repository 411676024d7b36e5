import { type Address, createWalletClient, type Hash, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { hardhat } from "viem/chains";
import { expect } from "vitest";
import { detectDeployments } from "../../src/collections/detect-deployments.ts";
import { goerli } from "../transactions/harness.ts";
import type { HttpApi } from "./http-api.ts";
import { LaunchFixture } from "./launch-fixture.ts";

const mutation = `mutation ($input: DeployCollectionInput!, $sender: Address) {
  deployCollection(input: $input, mode: SIGN, sender: $sender) { transaction { data } userErrors { message } } }`;

/** What creators, third parties and the worker do about deployments of mode SIGN. */
export class SignFixture {
  readonly launch: LaunchFixture;

  private constructor(launch: LaunchFixture) {
    this.launch = launch;
  }

  static async start(settings: Record<string, string> = {}): Promise<SignFixture> {
    return new SignFixture(await LaunchFixture.start(settings));
  }

  get api(): HttpApi {
    return this.launch.api;
  }

  get chain() {
    return this.launch.h.chain;
  }

  /** A wallet with ten ether. */
  async wallet() {
    const account = privateKeyToAccount(generatePrivateKey());
    await this.chain.setBalance({ address: account.address, value: parseEther("10") });
    return createWalletClient({
      account,
      chain: { ...hardhat, id: this.launch.h.node.id },
      transport: http(this.launch.h.node.url),
    });
  }

  /** The bytes that the account's creator is to send. */
  async prepare(given: Record<string, unknown>, sender?: Address): Promise<Hex> {
    const { data, errors } = await this.api.graphql(mutation, { input: given, sender });
    expect(errors).toBeUndefined();
    return data["deployCollection"]?.["transaction"]?.["data"] as unknown as Hex;
  }

  /** Waits until it is mined and succeeded. */
  async mined(sent: Promise<Hash>) {
    const receipt = await this.chain.waitForTransactionReceipt({ hash: await sent });
    expect(receipt.status).toBe("success");
    return receipt;
  }

  async detect(): Promise<void> {
    const { services } = this.api;
    while ((await detectDeployments(services, goerli(services))) === "again");
  }

  /** What minting pages and the account are shown. */
  async listed(): Promise<{ address: Address; transactionHash: Hash; name: string }[]> {
    const { data } = await this.api.graphql(
      `{ viewer { collections(chain: "goerli") { address transactionHash name } } }`,
    );
    return data["viewer"]?.["collections"] as unknown as { address: Address; transactionHash: Hash; name: string }[];
  }

  /** The collection of this name that the account is shown. */
  async listedAs(name: unknown): Promise<Address[]> {
    return (await this.listed()).filter((collection) => collection.name === name).map(({ address }) => address);
  }

  async stop(): Promise<void> {
    await this.launch.stop();
  }
}
