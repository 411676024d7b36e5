import { expect, test } from "vitest";
import { checkAnswer, faultsOfAnswer } from "../setup/openapi-check.ts";

const search = { response: "OK", search_results: [], error: null };
const refusal = {
  response: "NOK",
  error: { status_code: 404, code: "not_found", message: "m", request_id: "r", fix: "f", docs: "/docs" },
};

test("an answer that the document promises has no faults", () => {
  expect(faultsOfAnswer("GET", "/v0/search?text=x", 200, search)).toEqual([]);
  expect(faultsOfAnswer("DELETE", "/v0/me/keys/1", 404, refusal)).toEqual([]);
});

test.each([
  ["a missing member", { response: "OK", error: null }, "required property 'search_results'"],
  ["a member of nobody's", { ...search, total: 1 }, "additional properties"],
  ["a wrong type", { ...search, search_results: {} }, "answer/search_results: must be array"],
  [
    "a member of an item",
    { ...search, search_results: [{ chain: 1 }] },
    "answer/search_results/0/chain: must be string",
  ],
  ["a failure with status 200", refusal, "must be equal to constant"],
])("%s is a fault", (_, body, fault) => {
  expect(faultsOfAnswer("GET", "/v0/search", 200, body).join("; ")).toContain(fault);
});

test("a status that the document does not have is a fault, and so is an answer of an undocumented path", () => {
  expect(faultsOfAnswer("GET", "/v0/search", 418, refusal)).toHaveLength(1);
  expect(() => checkAnswer("GET", "/v0/nothing", 404, refusal)).not.toThrow();
  expect(() => checkAnswer("GET", "/v0/nothing", 200, search)).toThrow("does not have");
  expect(() => checkAnswer("GET", "/v0/nothing", 404, { ...refusal, more: 1 })).toThrow("additional properties");
});
