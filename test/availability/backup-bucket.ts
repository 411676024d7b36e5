import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import { owner, Swift } from "../setup/swift.ts";
import { testCertificate, testKey } from "../setup/tls-identity.ts";

export type BackupBucket = Awaited<ReturnType<typeof startBackupBucket>>;

/** A bucket of OpenStack Swift by TLS, which pgBackRest insists on. @param certificate where the file of the authority is to be. */
export async function startBackupBucket(certificate: string) {
  const swift = await Swift.start();
  await swift.settings("backups");
  await writeFile(certificate, testCertificate, { mode: 0o644 });
  const server = createServer({ key: testKey, cert: testCertificate }, (client) => {
    const inner = connect(swift.port, "127.0.0.1");
    client.pipe(inner).pipe(client);
    for (const socket of [client, inner])
      socket.on("error", () => undefined).on("close", () => [client, inner].map((one) => one.destroy()));
  });
  await new Promise<void>((ready) => server.listen(0, ready));
  return {
    /** Of cluster.env. */
    values: {
      ...{ BACKUP_S3_ENDPOINT: "localhost", BACKUP_S3_REGION: "us-east-1", BACKUP_S3_BUCKET: "backups" },
      ...{ BACKUP_S3_KEY: owner.accessKeyId, BACKUP_S3_SECRET: owner.secretAccessKey },
    },
    /** What a bucket of a provider does not need in pgbackrest.conf. */
    settings: {
      "repo1-storage-host": "localhost",
      "repo1-storage-port": String((server.address() as AddressInfo).port),
      "repo1-storage-ca-file": certificate,
    },
    stop: async () => {
      server.close();
      await swift.stop();
    },
  };
}
