import { expect, test } from "vitest";
import { loadConfig, secretsOf } from "../../src/config/config.ts";

const load = (env: Record<string, string>) => loadConfig({ DATABASE_URL: "postgres://x", ...env }).ipfs.store;
const [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY] = ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"];

test("without IPFS_STORE blocks lie in the data folder, whatever AWS variables are there for other programs", () => {
  expect(load({})).toBeNull();
  expect(load({ IPFS_STORE: " ", AWS_ACCESS_KEY_ID, AWS_REGION: "not a region" })).toBeNull();
});

test("what is not said is what AWS' own tools take", () => {
  const defaults = {
    region: "us-east-1",
    endpoint: null,
    pathStyle: false,
    credentials: null,
    cacheBytes: 1_073_741_824,
  };
  expect(load({ IPFS_STORE: "s3://content" })).toEqual({ bucket: "content", prefix: "", ...defaults });
  const own = { IPFS_STORE: "s3://content/a/b/", AWS_ENDPOINT_URL: "http://all.example", AWS_REGION: "auto" };
  expect(load(own)).toMatchObject({ prefix: "a/b/", endpoint: "http://all.example", pathStyle: true, region: "auto" });
  expect(load({ ...own, AWS_ENDPOINT_URL_S3: "https://s3.example/", IPFS_S3_PATH_STYLE: "off" })).toMatchObject({
    endpoint: "https://s3.example",
    pathStyle: false,
  });
});

test.each([
  [{ IPFS_STORE: "/mnt/blocks" }, /^IPFS_STORE: s3:\/\/bucket or/],
  [{ IPFS_STORE: "s3://" }, /^IPFS_STORE: s3:\/\/bucket or/],
  [{ IPFS_STORE: "s3://Content" }, /^IPFS_STORE: a bucket's name/],
  [{ IPFS_STORE: "s3://content/../other" }, /^IPFS_STORE: a prefix/],
  [{ IPFS_STORE: "s3://content//x" }, /^IPFS_STORE: a prefix/],
  [{ IPFS_STORE: "s3://content", AWS_ENDPOINT_URL_S3: "minio:9000" }, /^AWS_ENDPOINT_URL_S3: a URL/],
  [{ IPFS_STORE: "s3://content", AWS_REGION: "Frankfurt am Main" }, /^AWS_REGION: a region/],
  [{ IPFS_STORE: "s3://content", AWS_ACCESS_KEY_ID }, /^AWS_SECRET_ACCESS_KEY: missing/],
  [{ IPFS_STORE: "s3://content", AWS_SECRET_ACCESS_KEY }, /^AWS_ACCESS_KEY_ID: missing/],
  [{ IPFS_STORE: "s3://content", IPFS_CACHE_BYTES: "1 GB" }, /^IPFS_CACHE_BYTES: a whole number/],
  [{ IPFS_STORE: "s3://content", IPFS_S3_PATH_STYLE: "maybe" }, /^IPFS_S3_PATH_STYLE: /],
])("a mistake names its setting: %j", (env, message) => {
  expect(() => load(env)).toThrow(message);
});

test("the secret and the session's token appear in no log", () => {
  const session = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN: "FwoGZXIvYXdzEXAMPLE" };
  const config = loadConfig({ DATABASE_URL: "postgres://x", IPFS_STORE: "s3://content", ...session });
  expect(config.ipfs.store?.credentials).toMatchObject({ sessionToken: session.AWS_SESSION_TOKEN });
  expect(secretsOf(config)).toEqual(expect.arrayContaining([AWS_SECRET_ACCESS_KEY, session.AWS_SESSION_TOKEN]));
});
