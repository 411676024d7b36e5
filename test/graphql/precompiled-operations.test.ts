import { expect, test } from "vitest";
import { PrecompiledOperations } from "../../src/graphql/fast-path/precompiled-operations.ts";
import { createSchema } from "../../src/graphql/schema.ts";

const query = `query ($account: Address!, $exclude: [TokenStandard!]) {
  account(address: $account) { nfts(chain: "goerli", first: 5, exclude: $exclude) { nodes { tokenId } } }
}`;
const account = `0x${"1".repeat(40)}`;
const cost = { fields: 1 } as never;

/** A value that counts how often it is looked at for a message. */
function badValue(seen: { count: number }) {
  return {
    toJSON: () => {
      seen.count += 1;
      return "bad";
    },
  };
}

test("of variables with many faults one is looked at: nothing of a request is counted by then", () => {
  const operations = new PrecompiledOperations();
  const operation = { query, operationName: null, variables: { account, exclude: ["ERC721"] } };
  operations.learn(createSchema(), "*/*", operation, { contentType: "application/json", cost, name: null });
  expect(operations.find("*/*", operation)).not.toBeNull();
  const seen = { count: 0 };
  const exclude = Array.from({ length: 50_000 }, () => badValue(seen));
  expect(operations.find("*/*", { ...operation, variables: { account, exclude } })).toBeNull();
  expect(seen.count).toBeGreaterThan(0);
  expect(seen.count).toBeLessThan(20);
});
