import { createServer, type IncomingMessage, request } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { type ServerSocket, WebSocketServer } from "ws";
import { testCertificate, testKey } from "../setup/tls-identity.ts";

interface Message {
  topic: string;
  message: string;
  publishedAt: number;
  tag: number;
}

interface Client {
  /** As it says itself, the same over every socket. */
  name: string;
  socket: ServerSocket;
}

interface Call {
  id: number | string;
  method?: string;
  params: Record<string, unknown>;
}

/**
 * WalletConnect's relay as two clients see it: what is published for a topic goes to those who subscribed to it, and waits for
 * those who do later, and never to the client that it is from. It reads nothing: messages are encrypted, and it has no key.
 */
class Relay {
  readonly #subscribers = new Map<string, Set<Client>>();
  readonly #kept = new Map<string, { from: string; data: Message }[]>();
  #delivered = 0;

  hear(socket: ServerSocket, { url = "" }: IncomingMessage): void {
    const client = { name: issuerOf(url), socket };
    socket.on("message", (data: Buffer) => {
      const call = JSON.parse(data.toString()) as Call;
      // Otherwise it acknowledges what it was sent.
      if (!call.method) return;
      const result = this.#answer(client, call);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: call.id, result }));
    });
    socket.on("close", () => {
      for (const clients of this.#subscribers.values()) clients.delete(client);
    });
  }

  #answer(client: Client, { method, params }: Call): unknown {
    const topic = String(params["topic"]);
    const topics = (params["topics"] ?? []) as string[];
    const text = (name: string) => String(params[name]);
    switch (method) {
      case "irn_subscribe":
        return this.#subscribe(client, topic);
      case "irn_batchSubscribe":
        return topics.map((one) => this.#subscribe(client, one));
      case "irn_unsubscribe":
        return this.#subscribers.get(topic)?.delete(client) ?? false;
      case "irn_batchFetchMessages":
        return { messages: topics.flatMap((one) => this.#keptFor(client, one)), hasMore: false };
      case "irn_publish":
        return this.#publish(client, topic, text("message"), Number(params["tag"]));
      // A proposal and its approval come in one call each, with the subscriptions that they need.
      case "wc_proposeSession":
        this.#subscribe(client, text("pairingTopic"));
        return this.#publish(client, text("pairingTopic"), text("sessionProposal"), 1100);
      case "wc_approveSession":
        this.#subscribe(client, text("sessionTopic"));
        this.#publish(client, text("pairingTopic"), text("sessionProposalResponse"), 1101);
        return this.#publish(client, text("sessionTopic"), text("sessionSettlementRequest"), 1102);
      default:
        throw new Error(`the relay has no method ${method}`);
    }
  }

  #subscribe(client: Client, topic: string): string {
    this.#subscribers.set(topic, (this.#subscribers.get(topic) ?? new Set()).add(client));
    // After the answer, so that the client knows the subscription.
    setImmediate(() => {
      for (const message of this.#keptFor(client, topic)) this.#deliver(client, message);
    });
    return `subscription of ${topic}`;
  }

  #keptFor({ name }: Client, topic: string): Message[] {
    return (this.#kept.get(topic) ?? []).flatMap(({ from, data }) => (from === name ? [] : [data]));
  }

  #publish({ name }: Client, topic: string, message: string, tag: number): true {
    const data = { topic, message, publishedAt: Date.now(), tag };
    this.#kept.set(topic, [...(this.#kept.get(topic) ?? []), { from: name, data }]);
    for (const client of this.#subscribers.get(topic) ?? []) if (client.name !== name) this.#deliver(client, data);
    return true;
  }

  #deliver({ socket }: Client, data: Message): void {
    this.#delivered += 1;
    const params = { id: `subscription of ${data.topic}`, data };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#delivered, method: "irn_subscription", params }));
  }
}

/** Who signed the token that a client opens its socket with. */
function issuerOf(path: string): string {
  const token = new URL(path, "wss://relay").searchParams.get("auth") ?? "";
  const { iss } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { iss: string };
  return iss;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

export interface TestHost {
  /** Of TLS, for browsers: websockets reach the relay, all else the HTTP server behind it. */
  port: number;
  /** The relay for clients in this process, which would not trust the certificate. */
  relayUrl: string;
  close(): void;
}

/** @param port of an HTTP server. A page of it has a public name and HTTPS through the one that is started here. */
export async function startRelayAndProxy(port: number): Promise<TestHost> {
  const secure = createSecureServer({ key: testKey, cert: testCertificate }, (incoming: IncomingMessage, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const passed = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const plain = createServer();
  const relay = new Relay();
  const servers = [secure, plain].map((server) => ({
    server,
    sockets: new WebSocketServer({ server, maxPayload: 1_000_000 }).on("connection", (socket, incoming) =>
      relay.hear(socket, incoming),
    ),
  }));
  for (const { server } of servers) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: portOf(secure),
    relayUrl: `ws://127.0.0.1:${portOf(plain)}`,
    close: () => {
      for (const { server, sockets } of servers) {
        for (const socket of sockets.clients) socket.terminate();
        sockets.close();
        server.closeAllConnections();
        server.close();
      }
    },
  };
}
