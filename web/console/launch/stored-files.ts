/**
 * Which files this browser has sent already, by SHA-256: what is stored is not sent again, also after a closed tab. The
 * server keeps content by its hash as well, so a list that was lost costs time and nothing else.
 */
export class StoredFiles {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  static async open(): Promise<StoredFiles> {
    const request = indexedDB.open("mintyard-files", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("cids");
    return new StoredFiles(await done(request));
  }

  /** @returns its CID; undefined for a file that was not sent. */
  async find(account: string, hash: string): Promise<string | undefined> {
    const store = this.#database.transaction("cids").objectStore("cids");
    return (await done(store.get(`${account} ${hash}`))) as string | undefined;
  }

  async add(account: string, hash: string, cid: string): Promise<void> {
    const store = this.#database.transaction("cids", "readwrite").objectStore("cids");
    await done(store.put(cid, `${account} ${hash}`));
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage does not work"));
  });
}

export async function sha256(file: Blob): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
