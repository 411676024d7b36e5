import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";

const env = {
  DATABASE_URL: "postgres://a:b@127.0.0.1/x",
  RPC_URL_GOERLI: "http://127.0.0.1:9",
  CHAIN_ID_GOERLI: "31337",
};

test("production does not start without key material of its own, and says what to do", () => {
  expect(() => loadConfig({ ...env, NODE_ENV: "production" })).toThrow(/^KEY_PEPPER: missing; .*openssl rand/);
  expect(loadConfig({ ...env, NODE_ENV: "production", KEY_PEPPER: "long" }).keyPepper).toBe("long");
  expect(loadConfig(env).keyPepper).toBe("mintyard-embedded");
});

test("a wrong list of replicas is named, and its passwords are not", () => {
  const urls = "postgres://a:secret-one@one/x, postgresql://a:secret-two@two/x";
  expect(loadConfig({ ...env, DATABASE_REPLICA_URLS: urls }).replicas).toEqual({
    urls: urls.split(", "),
    maxLagSeconds: 5,
  });
  for (const wrong of [`${urls},three`, "http://a:secret-one@one/x"])
    expect(() => loadConfig({ ...env, DATABASE_REPLICA_URLS: wrong })).toThrow(/^DATABASE_REPLICA_URLS: (?!.*secret)/);
});
