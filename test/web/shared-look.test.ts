import { expect, test } from "vitest";
import { formatEther, formatFee, formatTotal, parseEther } from "../../web/shared/amounts.ts";
import { addressUrl } from "../../web/shared/explorer.ts";
import { identiconOf } from "../../web/shared/identicon.ts";
import { relativeTime } from "../../web/shared/times.ts";

test("an address has one picture, whatever the case of its letters, and its neighbours have others", () => {
  const address = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
  expect(identiconOf(address)).toEqual(identiconOf(address.toLowerCase()));
  const others = Array.from({ length: 200 }, (_, at) => `0x${at.toString(16).padStart(40, "0")}`);
  const pictures = new Set(others.map((other) => JSON.stringify(identiconOf(other))));
  expect(pictures.size).toBeGreaterThan(195);
});

test("an explorer's page of an address follows from that of its transactions, where it has the usual form", () => {
  expect(addressUrl("https://etherscan.io/tx", "0x12")).toBe("https://etherscan.io/address/0x12");
  expect(addressUrl("https://explorer.example/tx/", "0x12")).toBe("https://explorer.example/address/0x12");
  expect([addressUrl("https://explorer.example/t?id=", "0x12"), addressUrl(null, "0x12")]).toEqual([null, null]);
});

test("times are said in the largest unit that fits, fees without zeros that say nothing", () => {
  const now = Date.parse("2026-06-01T12:00:00Z");
  const said = [-3, -90, -7_300, 2 * 86_400, -400 * 86_400].map((seconds) => relativeTime(now + seconds * 1_000, now));
  expect(said).toEqual(["now", "1 minute ago", "2 hours ago", "in 2 days", "last year"]);
  expect([formatFee(123_456_789_000_000n), formatFee(100_000_000_000_000n), formatFee(10n ** 18n)]).toEqual([
    ...["0.00012", "0.0001", "1"],
  ]);
});

test("a total is shown to the last place of price and fee, and is never less than the price", () => {
  expect(formatTotal(10n ** 16n, 71_234_000_000_000n)).toBe("0.010072");
  expect(formatTotal(0n, 71_234_000_000_000n)).toBe("0.000072");
  expect(formatTotal(2n * 10n ** 18n, 0n)).toBe("2");
  for (let at = 1n; at < 400n; at += 1n) {
    const [price, fee] = [at * 1_234_567_890_123_457n, (401n - at) * 98_765_432_109n];
    const shown = parseEther(formatTotal(price, fee)) ?? 0n;
    expect(shown, formatEther(price)).toBeGreaterThanOrEqual(price + fee);
    expect(shown - price - fee, formatEther(fee)).toBeLessThan(10n ** 15n);
  }
});
