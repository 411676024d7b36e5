import fc from "fast-check";
import { formatUnits } from "viem";
import { describe, expect, test } from "vitest";
import { LongWork } from "../../src/long-work.ts";
import { decimalToWei, Input, parseIsoDate } from "../../src/rest/input.ts";
import { parseInParts, parseJsonObject } from "../../src/rest/json-body.ts";
import { decimalOf } from "../../src/rest/values.ts";

describe("prices", () => {
  test.each([
    ["0.01", 10n ** 16n],
    ["1e-2", 10n ** 16n],
    ["1E2", 10n ** 20n],
    ["0", 0n],
    [".5", 5n * 10n ** 17n],
    ["0.1000000000000000000000", 10n ** 17n],
    ["0.000000000000000001", 1n],
    ["0.0000000000000000001", "too fine"],
    ["-1", -(10n ** 18n)],
    ["1,5", null],
    ["", null],
    [".", null],
    ["0x10", null],
    ["Infinity", null],
    ["1e400", null],
  ])("%s", (text, wei) => {
    expect(decimalToWei(text)).toBe(wei);
  });

  test("what is answered as a price reads as the same wei again", () => {
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 88n }), (wei) => decimalToWei(decimalOf(wei)) === wei));
    expect([0n, 1n, 10n ** 18n, 10n ** 16n].map(decimalOf)).toEqual(["0", "0.000000000000000001", "1", "0.01"]);
  });

  test("every amount of wei survives its decimal text, as a string or as a JSON number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 88n }), (wei) => {
        const text = formatUnits(wei, 18);
        expect(decimalToWei(text)).toBe(wei);
        const input = Input.fromBody(parseJsonObject(`{"mint_price":${text}}`));
        expect(input.wei("mint_price")).toBe(wei);
      }),
    );
  });
});

describe("dates", () => {
  test.each([
    ["2022-07-12T11:30:48", "2022-07-12T11:30:48.000Z"],
    ["2022-07-12T11:30:48Z", "2022-07-12T11:30:48.000Z"],
    ["2022-07-12T11:30:48+02:00", "2022-07-12T09:30:48.000Z"],
    ["2022-07-12T11:30:48.388951+00:00", "2022-07-12T11:30:48.388Z"],
    ["2022-07-12", "2022-07-12T00:00:00.000Z"],
    ["2024-02-29T00:00:00", "2024-02-29T00:00:00.000Z"],
  ])("%s", (text, instant) => {
    expect(parseIsoDate(text)?.toISOString()).toBe(instant);
  });

  test.each(["", "tomorrow", "2022-02-29", "2022-13-01", "1657625448", "2022-07-12T25:00:00", "12.07.2022"])(
    "not %s",
    (text) => {
      expect(parseIsoDate(text)).toBeNull();
    },
  );
});

describe("legacy members", () => {
  test("null and empty text are absent, digits in a string are a number, the service's own spelling wins", () => {
    const input = Input.fromBody(
      parseJsonObject(
        '{"a":null,"b":"","n":"0012","m":7.0,"public_mint_start":"2026-01-02","public_mint_start_date":"2020-01-01"}',
      ),
    );
    expect([input.text("a"), input.text("b"), input.text("c")]).toEqual([undefined, undefined, undefined]);
    expect([input.integer("n"), input.integer("m")]).toEqual([12n, 7n]);
    expect(input.date(["public_mint_start", "public_mint_start_date"])?.toISOString()).toBe("2026-01-02T00:00:00.000Z");
    expect(() => input.check()).not.toThrow();
  });

  test("faults are reported missing first, then type, then form, whatever their place in the body", () => {
    const read = (text: string) => {
      const input = Input.fromBody(parseJsonObject(text));
      input.address("owner", { required: true });
      input.integer("supply", { required: true });
      input.text("name", { required: true });
      input.check();
    };
    expect(() => read('{"owner":"bob","supply":"x"}')).toThrow("name is missing");
    expect(() => read('{"owner":"bob","supply":"x","name":"n"}')).toThrow("supply must be a whole number");
    expect(() => read('{"owner":"bob","supply":1,"name":"n"}')).toThrow("Invalid address: owner.");
  });

  test("what nobody asked for under any spelling is unknown; what was asked for is not, sent or not", () => {
    const input = Input.fromBody(parseJsonObject('{"name":"a","reserved_supply":5,"start_date":null,"toString":1}'));
    input.text("name");
    input.date(["start", "start_date"]);
    input.integer("team_reserve");
    expect(input.unknown()).toEqual(["reserved_supply", "toString"]);
  });

  test("a body that is not JSON is told where", () => {
    const refused = () => parseJsonObject('{"name": "a", }');
    expect(refused).toThrow(/^the body is not JSON: .*position 14/);
    expect(() => parseJsonObject(`{"name": ${"x".repeat(10_000)}`)).toThrow(/^.{20,160}$/s);
  });

  test("a member named like a property of every object is just a member", () => {
    const input = Input.fromBody(parseJsonObject('{"name":"a"}'));
    expect(input.text("constructor")).toBeUndefined();
    expect(input.text("__proto__")).toBeUndefined();
  });
});

describe("a long body that is parsed in parts", () => {
  const parse = (text: string, most = 200_000) =>
    parseInParts(text, undefined, { most, work: new LongWork("") }).then(
      (value) => value,
      (error: Error) => error.message,
    );
  /** Longer than a part. */
  const long = (item: string) => Array.from({ length: Math.ceil(20_000 / item.length) }, () => item).join(",");

  test("is what JSON.parse makes of it", async () => {
    const lists = fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 3 }),
        lists,
        fc.constantFrom("a", "b", "__proto__"),
        async (other, list, name) => {
          const items = list.map((item) => long(JSON.stringify(item))).join(" ,\n");
          const text = `{ "b": ${JSON.stringify(other)}, "${name}" : [ ${items} ], "c": [], "d": [${items}] }`;
          const [value, wanted] = [await parse(text), JSON.parse(text)];
          expect(JSON.stringify(value)).toBe(JSON.stringify(wanted));
          expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
        },
      ),
      { numRuns: 30 },
    );
  });

  test.each([
    ["nothing between two commas", `{"a":[${long("1")},,${long("1")}]}`],
    ["a comma at the end", `{"a":[${long("1")},]}`],
    ["a comma at the beginning", `{"a":[,${long("1")}]}`],
    ["a list in the place of a name", `{[${long("1")}]:1}`],
    ["a list that ends as an object does", `{"a":[${long("1")}}`],
    ["an object in a list that ends as a list does", `{"a":[${long("1")},{"b":1],${long("1")}]}`],
    ["no end", `{"a":[${long("1")}`],
    ["more after its end", `{"a":[${long("1")}]}]`],
    ["two lists without a comma", `{"a":[${long("1")}][${long("1")}]}`],
    ["a text that does not end", `{"a":[${long('"x"')},"]}`],
  ])("is refused as JSON.parse refuses it: %s", async (_what, text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(await parse(text)).toBeNull();
  });

  test("may have many values in lists and fewer in one piece, and is looked at no further than that", async () => {
    expect(await parse(`{"a":[${long("1")}]}`, 100)).toContain("over 100 values");
    expect(await parse(`{"a":{"b":[${"1,".repeat(60_000)}1]}}`)).toContain("over 50000 values");
    expect(await parse(`{"a":[${"1,".repeat(60_000)}1]}`)).toMatchObject({ a: { length: 60_001 } });
    expect(await parse(`{"a":${"[".repeat(64)}${long("1")}`)).toContain("over 64 levels");
  });

  test("lets others have the event loop", async () => {
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 0);
    await parse(`{"a":[${Array.from({ length: 150_000 }, (_, index) => `"${index}"`).join()}]}`);
    clearInterval(turning);
    expect(turns).toBeGreaterThan(3);
  });
});

test("of a list with many faults the first hundred are told", () => {
  const input = Input.fromBody({ a: [], b: 1 });
  for (let at = 0; at < 5_000; at += 1) input.fail("value_error", `a[${at}]`, "wrong");
  input.text("name", { required: true });
  const faults = input.faults();
  expect([faults.length, faults[0]?.code, faults.at(-1)?.field]).toEqual([101, "parameter_missing", "a[99]"]);
});
