import { request } from "node:http";

/** Posts JSON to a node over a connection of its own: a kept one may be closed by the node just as it is used again. */
export async function postOnce<T>(url: string, question: unknown): Promise<T> {
  const body = JSON.stringify(question);
  return await new Promise((done, failed) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request(url, { method: "POST", agent: false, headers }, async (response) => {
      try {
        done(JSON.parse(Buffer.concat(await response.toArray()).toString()) as T);
      } catch (error) {
        failed(error);
      }
    });
    asked.on("error", failed).end(body);
  });
}
