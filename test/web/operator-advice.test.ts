import { join } from "node:path";
import { expect, test } from "vitest";
import { buildGuides } from "../../bin/build-guides.ts";
import { chainTroubles } from "../../src/accounts/troubles.ts";
import { advices, findTroubles } from "../../web/console/operator/advice.ts";
import type { Status } from "../../web/console/operator/status.ts";

const { guides } = await buildGuides(join(import.meta.dirname, "../../docs"));

/** An installation in which everything is wrong that can be. */
const status = (database: string): Status => ({
  database,
  clock: { aheadSeconds: 90, wrong: true },
  signer: { kind: null, trouble: null },
  replicas: [{ replica: "1", trouble: "not_a_standby" }],
  chains: [
    {
      ...{ chain: "goerli", chainId: 5, indexedBlock: null, lagSeconds: null, lagBlocks: null, wallets: [] },
      ...{ walletStates: [], queue: {}, oldestWaitingSeconds: null, troubles: [...chainTroubles] },
    },
  ],
  metadata: {},
  pins: { failed: 1 },
  storage: { full: ["data_folder"], store: "away" },
});

test("every trouble has a sentence of what to do, and the guide that it names has the heading", () => {
  const troubles = ["unreachable", "refused"].flatMap((database) => findTroubles(status(database)));
  const codes = new Set(troubles.map(({ code }) => code));
  expect([...codes].filter((code) => !Object.hasOwn(advices, code))).toEqual([]);
  expect(Object.keys(advices).filter((code) => !codes.has(code))).toEqual([]);
  const unlike = {
    ...status("ok"),
    chains: [{ ...status("ok").chains[0], troubles: ["of_a_newer_server"] }],
  } as Status;
  const unknown = findTroubles(unlike).filter(({ code }) => code === "of_a_newer_server");
  expect(unknown).toMatchObject([{ says: "of a newer server.", where: "goerli" }]);
  for (const { code, says, todo, guide } of [...troubles, ...unknown]) {
    expect([says, todo], code).toEqual([expect.stringMatching(/\.$/), expect.stringMatching(/\.$/)]);
    const [page, anchor] = guide.split("#");
    const shown = guides.find(({ name }) => name === page);
    expect(shown?.html, `${code}: ${guide}`).toContain(` id="${anchor}"`);
  }
});

test("the runbooks are pages of the guides, and lead to each other and to the guides", () => {
  const list = guides.find(({ name }) => name === "runbooks");
  const runbooks = guides.filter(({ isRunbook }) => isRunbook);
  expect(runbooks.length).toBeGreaterThan(30);
  for (const { name, title } of runbooks) {
    expect(title).toBe(name);
    expect(list?.html).toContain(`<a href="/docs/guide/${name}">${name}</a>`);
  }
  const names = new Set(guides.map(({ name }) => name));
  const links = runbooks.flatMap(({ html }) =>
    [...html.matchAll(/href="\/docs\/guide\/([\w-]+)/g)].map(([, to]) => to),
  );
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((to) => !names.has(to ?? ""))).toEqual([]);
});
