import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

// Pages are put together in memory that is used again. Each answer has to be whole while others are made, however slowly its
// client reads it, and when other clients go away half way.
const accounts = [1, 2, 3, 4, 5, 6].map((at) => addressOf(at));
const contract = addressOf(0xc0);
let api: ApiServer;
let key: string;
beforeAll(async () => {
  // However slow the machine is: none of these reads is to be ended for its time.
  api = await ApiServer.start({ READ_TIMEOUT_MS: "900000", READ_WAIT_MS: "900000" });
  const tokens = accounts.flatMap((to, account) =>
    Array.from({ length: 50 }, (_, at) => ({ to, tokenId: BigInt(account * 100 + at) })),
  );
  await api.nfts.add(tokens.map(({ to, tokenId }) => ({ contract, tokenId, from: nobody, to })));
  const rows = tokens.map(({ to, tokenId }) => ({
    ...{ chain_id: 31337, contract: Buffer.from(contract.slice(2), "hex"), status: "fresh" as const },
    token_id: String(tokenId),
    // 50 KB to 1.2 MB a page: each account's in memory of another length.
    metadata: JSON.stringify({ of: to, text: `${tokenId} `.repeat(200 * 2 ** accounts.indexOf(to)) }),
  }));
  await api.database.db.insertInto("service.token_metadata").values(rows).execute();
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

const query =
  'query ($a: Address!) { account(address: $a) { nfts(chain: "goerli", first: 50) { nodes { tokenId owner metadata } } } }';
const pathOf = (account: string) => `/v0/accounts/${account}?chain=goerli&include=metadata`;

/** More than the system keeps of a connection, so that the last answers wait in this process. */
const pipelined = 40;

/** Sends requests over a connection that reads nothing. */
function unread(account: string): Socket {
  const body = JSON.stringify({ query, variables: { a: account } });
  const socket = connect(api.port, "127.0.0.1").pause();
  socket.on("error", () => undefined);
  for (let at = 1; at <= pipelined; at += 1)
    socket.write(
      // Accepted as by `fetch`: for another type its plan is not known yet, and the ordinary path lets so many wait and no more.
      `POST /graphql HTTP/1.1\r\nHost: a\r\nAuthorization: ${key}\r\nAccept: */*\r\nContent-Type: application/json\r\n` +
        `${at === pipelined ? "Connection: close\r\n" : ""}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  return socket;
}

/** The bodies of all answers. */
async function rest(socket: Socket): Promise<string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const all = Buffer.concat(chunks).toString();
  // Each has its length: a head is followed by one body.
  return all.split(/HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n/).slice(1);
}

/** What does not change from one answer to the next. */
const dataOf = (text: string) => JSON.stringify(JSON.parse(text).data);

test("answers are whole beside others, read slowly or by clients that go away", async () => {
  const judged = await Promise.all(
    accounts.map(async (account) => {
      // The first answer is executed, by other code; the next ones come from its plan.
      const { body } = await api.graphql(key, query, { a: account });
      const { body: page } = await api.send("GET", pathOf(account), key);
      for (const { metadata } of body.data.account.nfts.nodes) expect(metadata.of).toBe(account);
      expect(body.data.account.nfts.nodes).toHaveLength(50);
      return { data: JSON.stringify(body.data), page: JSON.stringify(page) };
    }),
  );
  const slow = accounts.map(unread);
  for (let round = 0; round < 6; round += 1) {
    const leaving = accounts.map(unread);
    const replies = await Promise.all(
      accounts.flatMap((account) => [
        api.graphql(key, query, { a: account }),
        api.send("GET", pathOf(account), key),
        api.graphql(key, query, { a: account }),
      ]),
    );
    for (const [at, { data, page }] of judged.entries()) {
      expect(JSON.stringify(replies[at * 3]?.body.data) === data).toBe(true);
      expect(JSON.stringify(replies[at * 3 + 1]?.body) === page).toBe(true);
      expect(JSON.stringify(replies[at * 3 + 2]?.body.data) === data).toBe(true);
    }
    for (const socket of leaving) socket.destroy();
  }
  for (const [at, socket] of slow.entries()) {
    const answers = await rest(socket);
    // Not the answers themselves, which are megabytes.
    expect(answers.length).toBe(pipelined);
    for (const answer of answers) expect(dataOf(answer) === judged[at]?.data).toBe(true);
  }
});
