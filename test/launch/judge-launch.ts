import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CID } from "multiformats/cid";
import { expect } from "vitest";
import type { SettingsInput } from "../../bin/launch/settings.ts";
import { wallet } from "./artwork.ts";
import type { FolderCase, WantedToken } from "./folder-cases.ts";
import { LinkTo } from "./made-files.ts";

/** Writes a case's folder with its `launch.json`. */
export async function writeFolder(folder: string, { name, files, settings = {} }: FolderCase): Promise<void> {
  const whole: SettingsInput = {
    ...{ chain: "goerli", name: name.slice(0, 40), symbol: "FLD", owner: wallet, treasury: wallet, price: "0.01" },
    ...{ publicMintStart: "2036-01-01T00:00:00Z", tokensPerMint: 1, ...settings },
  };
  for (const [path, content] of Object.entries({ "launch.json": whole, ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    if (content instanceof LinkTo) await symlink(content.target, join(folder, path));
    else await writeFile(join(folder, path), bytesOf(content));
  }
}

export function bytesOf(content: string | Uint8Array | object): string | Uint8Array {
  return typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content);
}

/** What readers of a collection get: the bytes behind a path of a CID and names; null where there are none. */
export type Follow = (path: string) => Promise<Uint8Array | null>;

/** Reads a launched collection as a stranger would, and compares each token with what its case says. */
export async function judgeTokens(one: FolderCase, wanted: WantedToken[], base: string, follow: Follow): Promise<void> {
  const directory = /^ipfs:\/\/([^/]+)\/$/.exec(base)?.[1];
  expect(directory, base).toBeDefined();
  for (const [id, { document, links }] of wanted.entries()) {
    const bytes = await follow(`${directory}/${id}`);
    expect(bytes, `token ${id} has no document`).not.toBeNull();
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes ?? undefined);
    for (const kept of one.keeps ?? []) expect(text).toContain(kept);
    const served = JSON.parse(text) as Record<string, unknown>;
    const given = JSON.parse(readText(bytesOf(one.files[document] ?? ""))) as Record<string, unknown>;
    expect(await withoutLinks(one, served, links, follow), `token ${id}`).toEqual(withoutMembers(given, links));
    await refuseDead(one, served, follow);
    const shown = served["image"] ?? served["image_url"] ?? served["image_data"];
    expect(shown, `token ${id} has no picture`).toEqual(expect.stringMatching(/./));
  }
  expect(await follow(`${directory}/${wanted.length}`)).toBeNull();
}

function readText(content: string | Uint8Array): string {
  return (typeof content === "string" ? content : new TextDecoder().decode(content)).replace(/^\ufeff/, "");
}

/** The document less the members whose files were found to be the right ones. */
async function withoutLinks(
  { name: one, files }: FolderCase,
  served: Record<string, unknown>,
  links: WantedToken["links"],
  follow: Follow,
): Promise<unknown> {
  for (const [member, wanted] of Object.entries(links)) {
    const text = memberOf(served, member);
    const pattern = wanted.includes("⟨") ? wanted : `⟨${wanted}⟩`;
    const paths = [...pattern.matchAll(/⟨(.*?)⟩/gs)].flatMap(([, path]) => path || []);
    const around = pattern.split(/⟨.*?⟩/s).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const link = paths.length > 0 ? "ipfs://([a-zA-Z0-9]+)" : "";
    const found = new RegExp(`^${around.join(link)}$`).exec(String(text));
    expect(found, `${member} is ${JSON.stringify(text)}`).not.toBeNull();
    for (const [at, path] of paths.entries()) {
      const bytes = await follow(found?.[at + 1] ?? "");
      expect(bytes, `${member} is a dead link`).not.toBeNull();
      expect(
        Buffer.from(bytes ?? []).equals(Buffer.from(bytesOf(files[path] ?? "nothing"))),
        `${one}: ${member} is not ${path}`,
      ).toBe(true);
    }
  }
  return withoutMembers(served, links);
}

function withoutMembers(document: Record<string, unknown>, links: WantedToken["links"]): unknown {
  const copy = structuredClone(document);
  for (const member of Object.keys(links)) {
    const names = member.split(".");
    const last = names.pop() ?? "";
    const parent = names.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], copy);
    // A picture that the document did not name is added; no other member may be.
    if (parent && typeof parent === "object") delete (parent as Record<string, unknown>)[last];
  }
  return copy;
}

function memberOf(document: unknown, member: string): unknown {
  return member.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document);
}

/** No text of a document may hold an `ipfs:` link that leads nowhere, or what is left of a template. */
async function refuseDead({ outside = [] }: FolderCase, value: unknown, follow: Follow): Promise<void> {
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) await refuseDead({ outside } as FolderCase, inner, follow);
  if (typeof value !== "string" || outside.includes(value)) return;
  expect(value).not.toMatch(/NewUriToReplace|<CID>|\{id\}|\$\{|localhost|127\.0\.0\.1/i);
  for (const [link, content = ""] of value.matchAll(/ipfs:\/\/([^\s"'&.!?/]*)/g)) {
    expect(() => CID.parse(content), `${link} is no link`).not.toThrow();
    expect(await follow(content), `${link} is dead`).not.toBeNull();
  }
}

export function expectRefusal({ refused }: FolderCase, folder: string, message: string): void {
  const [file, reason] = refused ?? ["", /./];
  const line = message.split("\n").find((text) => reason.test(text)) ?? "";
  expect(line, message).toMatch(reason);
  // The file stands in the sentence with the reason, or the sentence is of one file.
  expect(`${line} ${message.split("\n")[0]}`).toContain(file === "FOLDER" ? folder : file);
}
