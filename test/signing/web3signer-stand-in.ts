import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Hex, hexToBigInt, keccak256, serializeSignature, serializeTransaction } from "viem";
import { generatePrivateKey, privateKeyToAccount, sign } from "viem/accounts";

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** What it does with the next questions for a signature, beside being right. */
export type Misbehaviour =
  | "right"
  | "another nonce"
  | "another receiver"
  | "another sender"
  | "a high s"
  | "garbage"
  | "an empty answer"
  | "a huge answer"
  | "no answer"
  | "a closed connection"
  | "404"
  | "500";

/**
 * Web3Signer's HTTP interface for secp256k1 keys, after its OpenAPI document (core/src/main/resources/openapi-specs/eth1)
 * and its JSON-RPC reference: `/upcheck`, `/api/v1/eth1/publicKeys`, `/api/v1/eth1/sign/{public key}`, which signs the
 * keccak256 of the data, and `eth_accounts` and `eth_signTransaction` at `/`.
 */
export class Web3SignerStandIn {
  readonly #server: Server;
  readonly #chainId: number;
  readonly #key: Hex;
  behaviour: Misbehaviour = "right";
  /** Questions for a signature. */
  asked = 0;

  private constructor(key: Hex, chainId: number) {
    this.#key = key;
    this.#chainId = chainId;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(key: Hex, chainId: number): Promise<Web3SignerStandIn> {
    const standIn = new Web3SignerStandIn(key, chainId);
    await new Promise<void>((done) => standIn.#server.listen(0, "127.0.0.1", done));
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    const account = privateKeyToAccount(this.#key);
    const publicKey = `0x${account.publicKey.slice(4)}`;
    const text = (status: number, said: string, type = "text/plain; charset=utf-8") =>
      response.writeHead(status, { "content-type": type }).end(said);
    const path = request.url ?? "";
    if (path === "/upcheck") return void text(200, "OK");
    if (path === "/api/v1/eth1/publicKeys") return void text(200, JSON.stringify([publicKey]), "application/json");
    const rpc =
      path === "/" ? (JSON.parse(body) as { id: number; method: string; params: Record<string, Hex>[] }) : null;
    if (rpc?.method === "eth_accounts")
      return void text(200, JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: [account.address] }));
    this.asked += 1;
    switch (this.behaviour) {
      case "no answer":
        return;
      case "a closed connection":
        return void response.destroy();
      case "404":
        return void text(404, "");
      case "500":
        return void text(500, "");
      case "garbage":
        return void text(200, rpc ? JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: "0x02c0ffee" }) : "0xc0ffee");
      case "an empty answer":
        return void text(200, "");
      case "a huge answer":
        return void text(200, `0x${"00".repeat(2_000_000)}`);
    }
    if (rpc) {
      const [fields = {}] = rpc.params;
      const result = await this.#signFields(fields);
      return void text(200, JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result }), "application/json");
    }
    if (!path.endsWith(publicKey)) return void text(404, "Public Key not found");
    text(200, await this.#signature((JSON.parse(body) as { data: Hex }).data));
  }

  /** v is 27 or 28, as Web3Signer writes it. */
  async #signature(data: Hex): Promise<Hex> {
    const privateKey = this.behaviour === "another sender" ? generatePrivateKey() : this.#key;
    // A signature over other bytes, as by a service that changes the transaction first.
    const changed = this.behaviour === "another nonce" || this.behaviour === "another receiver";
    const { r, s, yParity = 0 } = await sign({ hash: keccak256(changed ? `${data}00` : data), privateKey });
    if (this.behaviour !== "a high s") return serializeSignature({ r, s, yParity });
    const high = (order - hexToBigInt(s)).toString(16).padStart(64, "0");
    return serializeSignature({ r, s: `0x${high}`, yParity: 1 - yParity });
  }

  async #signFields(fields: Record<string, Hex>): Promise<Hex> {
    const amount = (name: string) => hexToBigInt(fields[name] ?? "0x0");
    const transaction = {
      type: "eip1559",
      chainId: this.#chainId,
      nonce: Number(amount("nonce")) + (this.behaviour === "another nonce" ? 1 : 0),
      to: this.behaviour === "another receiver" ? (`0x${"66".repeat(20)}` as const) : (fields["to"] ?? "0x"),
      data: fields["data"] ?? "0x",
      value: amount("value"),
      gas: amount("gas"),
      maxFeePerGas: amount("maxFeePerGas"),
      maxPriorityFeePerGas: amount("maxPriorityFeePerGas"),
    } as const;
    if (fields["gasPrice"]) {
      const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...rest } = transaction;
      const price = amount("gasPrice");
      return await privateKeyToAccount(this.#key).signTransaction({ ...rest, type: "legacy", gasPrice: price });
    }
    const privateKey = this.behaviour === "another sender" ? generatePrivateKey() : this.#key;
    const { r, s, yParity = 0 } = await sign({ hash: keccak256(serializeTransaction(transaction)), privateKey });
    if (this.behaviour !== "a high s") return serializeTransaction(transaction, { r, s, yParity });
    const high: Hex = `0x${(order - hexToBigInt(s)).toString(16)}`;
    return serializeTransaction(transaction, { r, s: high, yParity: 1 - yParity });
  }
}
