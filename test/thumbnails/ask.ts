import type { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";
import { wait } from "../setup/wait.ts";

/** Uploads a file. @returns its CID. */
export async function upload(api: ApiServer, key: string, bytes: Uint8Array, name = "picture"): Promise<string> {
  const body = new FormData();
  body.append("file", new Blob([Uint8Array.from(bytes)]), name);
  const answer = await send(`${api.url}/v0/files`, { key, body });
  return answer.body.ipfs_url.split("/").at(-1) ?? "";
}

export function ask(api: ApiServer, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${api.url}/thumbnails/${path}`, { redirect: "manual", ...init });
}

/** Asks again while the answer leads to the picture itself: a busy machine makes a preview later. */
export async function askUntilMade(api: ApiServer, path: string): Promise<Response> {
  return await wait(`a preview ${path}`, () => ask(api, path), { until: ({ status }) => status !== 307 });
}
