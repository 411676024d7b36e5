/**
 * The files that this browser has already sent, by SHA-256: stored files are not sent again, even after a tab was
 * closed. The server addresses content by its hash too, so losing this list costs only time.
 */
export class StoredFiles {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  static async open(): Promise<StoredFiles> {
    const request = indexedDB.open("mintyard-files", 2);
    request.onupgradeneeded = () => {
      for (const name of ["cids", "begun"])
        if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name);
    };
    return new StoredFiles(await done(request));
  }

  /** @returns the file's CID; undefined if it was not sent. */
  async find(account: string, hash: string): Promise<string | undefined> {
    const store = this.#database.transaction("cids").objectStore("cids");
    return (await done(store.get(`${account} ${hash}`))) as string | undefined;
  }

  /** Records a file before it is sent: the server may have it although its answer never arrived. */
  async begin(account: string, hash: string): Promise<void> {
    const store = this.#database.transaction("begun", "readwrite").objectStore("begun");
    await done(store.put(new Date().toISOString(), `${account} ${hash}`));
  }

  async add(account: string, hash: string, cid: string): Promise<void> {
    const change = this.#database.transaction(["cids", "begun"], "readwrite");
    const key = `${account} ${hash}`;
    await Promise.all([done(change.objectStore("cids").put(cid, key)), done(change.objectStore("begun").delete(key))]);
  }

  /** Files without an answer: their SHA-256, and when the first of them was sent. */
  async unanswered(account: string): Promise<{ hashes: string[]; since: string } | null> {
    const store = this.#database.transaction("begun").objectStore("begun");
    const [keys, times] = await Promise.all([done(store.getAllKeys()), done(store.getAll() as IDBRequest<string[]>)]);
    const own = keys.flatMap((key, at) => {
      const [owner, hash] = String(key).split(" ");
      return owner === account && hash ? [{ hash, time: times[at] ?? "" }] : [];
    });
    const [since] = own.map(({ time }) => time).sort();
    return since === undefined ? null : { hashes: own.map(({ hash }) => hash), since };
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
