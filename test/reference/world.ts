import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Address } from "viem";
import { drawImage } from "../../bin/demo-images.ts";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import type { samples } from "../../src/reference/example.ts";
import { WebhookReceiver } from "../events/receiver.ts";
import { randomAddress } from "../products/scenario.ts";
import { Client } from "../setup/client.ts";
import type { RunningStack } from "../setup/stack.ts";
import { wait } from "../setup/wait.ts";

export type Values = Record<keyof typeof samples | "key", string>;

const chain = "goerli";

/** What a reader of the examples has: an account with a collection, a product contract with tokens, and an endpoint. */
export class ReaderWorld {
  readonly client: Client;
  readonly connected: ReturnType<typeof connect>;
  readonly wallet: Wallet;
  readonly receiver: WebhookReceiver;
  readonly values = {} as Values;

  private constructor(
    stack: RunningStack,
    connected: ReturnType<typeof connect>,
    wallet: Wallet,
    receiver: WebhookReceiver,
  ) {
    this.client = new Client(stack.ready);
    this.connected = connected;
    this.wallet = wallet;
    this.receiver = receiver;
    Object.assign(this.values, { url: new URL(stack.ready.rest).origin, key: stack.ready.apiKey, chain });
    Object.assign(this.values, { wallet: wallet.account.address, friend: randomAddress() });
  }

  /** @param folder gets the files that the examples name. */
  static async furnish(stack: RunningStack, folder: string): Promise<ReaderWorld> {
    const connected = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
    const world = new ReaderWorld(stack, connected, await connected.createWallet(), await WebhookReceiver.start());
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "key.png"), new Uint8Array(drawImage(7)));
    const image = await world.#upload("key.png", new Uint8Array(drawImage(7)));
    const document = JSON.stringify({ name: "Key", description: "Opens a door.", image });
    for (const id of [0, 1]) writeFileSync(join(folder, `${id}.json`), document);
    const files = [0, 1].map((id): [string, Blob, string] => ["metadata_files", new Blob([document]), `${id}.json`]);
    const { body } = await world.client.form("/metadata/directory", files);
    Object.assign(world.values, {
      ...{ image, document: await world.#upload("key.json", document), webhookUrl: world.receiver.url },
      folder: body["metadata_directory_ipfs_uri"],
    });
    await world.#deploy();
    await world.#mint();
    const made = await world.makeWebhook();
    Object.assign(world.values, made);
    return world;
  }

  async #upload(name: string, content: string | Uint8Array<ArrayBuffer>): Promise<string> {
    const { body } = await this.client.form("/files", [["file", new Blob([content]), name]]);
    return `ipfs://${String(body["ipfs_url"]).split("/").at(-1)}`;
  }

  async #deploy(): Promise<void> {
    const { wallet } = this.values;
    const collection = await this.client.json("/contracts/collections", {
      ...{ chain, name: "Doors", symbol: "DOOR", max_supply: 20, tokens_per_mint: 3, mint_price: 0.01 },
      ...{ owner_address: wallet, treasury_address: wallet, public_mint_start: "2036-01-01T00:00:00Z" },
      ...{ presale_mint_start: "2035-01-01T00:00:00Z", presale_whitelisted_addresses: [wallet] },
      prereveal_token_uri: this.values.document,
    });
    const contract = await this.client.json("/contracts", {
      ...{ chain, name: "Passes", symbol: "PASS", type: "erc1155", owner_address: wallet, metadata_updatable: true },
    });
    this.values.deploymentHash = String(collection.body["transaction_hash"]);
    this.values.collection = await this.#addressOf(this.values.deploymentHash);
    this.values.contract = await this.#addressOf(String(contract.body["transaction_hash"]));
    const { data } = await this.ask("{ viewer { deployments(first: 1) { nodes { id } } } }");
    this.values.deploymentId = data.viewer.deployments.nodes[0].id;
  }

  async #addressOf(hash: string): Promise<Address> {
    const { body } = await this.client.until(`/contracts/${hash}?chain=${chain}`, ({ status }) => status === 200);
    return String(body["contract_address"]).toLowerCase() as Address;
  }

  async #mint(): Promise<void> {
    const { wallet, document, contract } = this.values;
    const tokens = ["1", "2"].map((token_id) => ({
      ...{ mint_to_address: wallet, token_id, metadata_uri: document, quantity: 1000 },
    }));
    const place = { chain, contract_address: contract };
    await this.client.json("/mints/customizable/batch", { ...place, tokens });
    const one = { ...place, mint_to_address: wallet, metadata_uri: document };
    const { body } = await this.client.json("/mints/customizable", one);
    this.values.mintHash = String(body["transaction_hash"]);
    await this.client.until(`/mints/${this.values.mintHash}?chain=${chain}`, ({ status }) => status === 200);
    await this.client.until(`/nfts/${contract}/2?chain=${chain}`, ({ status }) => status === 200);
    const { data } = await this.ask(
      `{ viewer { mints(first: 1) { nodes { id } } } contract(chain: "goerli", address: "${contract}") { id } }`,
    );
    Object.assign(this.values, { requestId: data.viewer.mints.nodes[0].id, nodeId: data.contract.id });
  }

  /** An endpoint that has answered its challenge. */
  async makeWebhook(): Promise<{ webhookId: string }> {
    const document = `mutation ($url: String!) { createWebhook(url: $url) { webhook { id } userErrors { message } } }`;
    const { data } = await this.ask(document, { url: this.receiver.url });
    const webhookId: string = data.createWebhook.webhook.id;
    const look = async () => (await this.ask("{ viewer { webhooks { id state } } }")).data.viewer.webhooks;
    await wait("an endpoint that is enabled", look, {
      until: (all: { id: string; state: string }[]) =>
        all.some(({ id, state }) => id === webhookId && state === "enabled"),
    });
    return { webhookId };
  }

  /** A GraphQL operation. @throws Error for errors in the answer. */
  async ask(query: string, variables: Record<string, unknown> = {}) {
    const { body } = await this.client.graphql(query, variables);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body;
  }

  /** Mints a token. @returns the id of the request. */
  async move(): Promise<string> {
    const token = { to: this.values.friend, uri: this.values.document };
    const { data } = await this.ask(
      `mutation ($contract: Address!, $token: MintTokenInput!, $key: String) {
        mint(chain: "goerli", contract: $contract, token: $token, idempotencyKey: $key) {
          request { id } userErrors { message }
        }
      }`,
      { contract: this.values.contract, token, key: randomUUID() },
    );
    return data.mint.request.id;
  }

  /** What some examples need anew each time that they run, by their place in the page. */
  readonly fresh: Readonly<Record<string, () => Promise<Partial<Values>>>> = {
    "post-v0-me-keys-id-rotate": () => this.#makeKey(),
    "delete-v0-me-keys-id": () => this.#makeKey(),
    "delete-v1-webhooks-id": () => this.makeWebhook(),
    // Another URI each time: the contract refuses one that it has.
    "put-v0-mints-customizable": async () => ({ image: `${this.values.folder}${++this.#made}` }),
    "mutation-reportDeployment": async () => {
      const { data } = await this.ask(
        `mutation ($input: DeployCollectionInput!) {
          deployCollection(input: $input, mode: SIGN) { transaction { to data } userErrors { message } }
        }`,
        { input: this.#collection() },
      );
      const { to, data: bytes } = data.deployCollection.transaction;
      const deploymentHash = await this.wallet.sendTransaction({ to, data: bytes });
      await this.connected.node.waitForTransactionReceipt({ hash: deploymentHash });
      return { deploymentHash };
    },
    "mutation-cancelDeployment": () =>
      this.#withoutBlocks(async () => {
        const { data } = await this.ask(
          `mutation ($input: DeployCollectionInput!) {
          deployCollection(input: $input) { deployment { id } userErrors { message } }
        }`,
          { input: this.#collection() },
        );
        return { deploymentId: data.deployCollection.deployment.id };
      }),
    "mutation-cancelCollectionUpdate": () =>
      this.#withoutBlocks(async () => {
        const input = { chain, collection: this.values.collection, royaltiesBps: ++this.#made };
        const { data } = await this.ask(
          `mutation ($input: UpdateCollectionInput!) {
          updateCollection(input: $input) { update { id } userErrors { message } }
        }`,
          { input },
        );
        return { updateId: data.updateCollection.update.id };
      }),
    "mutation-cancelMintRequest": () => this.#withoutBlocks(async () => ({ requestId: await this.move() })),
  };
  #made = 0;

  async #makeKey(): Promise<{ keyId: string }> {
    const { body } = await this.client.json("/me/keys", { name: "Old", scopes: ["read"] });
    return { keyId: body["key"]["id"] };
  }

  #collection() {
    const { wallet } = this.values;
    this.#made += 1;
    return {
      ...{ chain, name: `Windows ${this.#made}`, symbol: "WIN", maxSupply: "5", tokensPerMint: "1", mintPriceWei: "1" },
      ...{ owner: wallet, treasury: wallet, publicMintStart: "2036-01-01T00:00:00Z" },
    };
  }

  /** The chain makes no block until `letBlocks`: what is sent meanwhile can still be taken back. */
  async #withoutBlocks<T>(act: () => Promise<T>): Promise<T> {
    await this.connected.node.setAutomine(false);
    return await act();
  }

  /** The chain makes blocks again. */
  async letBlocks(): Promise<void> {
    if (await this.connected.node.getAutomine()) return;
    await this.connected.node.setAutomine(true);
    await this.connected.node.mine({ blocks: 1 });
  }

  async end(): Promise<void> {
    await this.receiver.close();
  }
}
