import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { MintyardError } from "../../../client/src/error.ts";
import type { Input } from "../../../client/src/rest.ts";
import { api } from "../api.ts";
import type { Collection } from "../collections.ts";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Members of `PUT /v0/contracts/collections`. */
export type Changes = Partial<Input<"put", "/v0/contracts/collections">["body"]>;

/** The result of an update's dry run; `cost` and `max_cost` in the chain's native coin. */
export interface UpdatePlan {
  gas: number;
  cost: number;
  max_cost: number;
  warnings: string[];
}

/**
 * Checks a change of a collection with a dry run, sends it, and follows it to the chain. `said` is its progress; it
 * says that the change is done only once that is confirmed.
 */
export function useUpdate({ chain, address }: Collection) {
  const client = useQueryClient();
  const [said, setSaid] = useState<string | null>(null);
  const [leave, setLeave] = useState<(() => void) | null>(null);
  const bodyOf = (changes: Changes) => ({ chain, contract_address: address, ...changes });
  const check = useMutation({
    mutationFn: async (changes: Changes) => {
      const asked = { query: { dry_run: true }, body: bodyOf(changes) };
      const { gas = 0, cost = 0, max_cost = 0, warnings = [] } = await api.put("/v0/contracts/collections", asked);
      return { of: JSON.stringify(changes), plan: { gas, cost, max_cost, warnings } };
    },
    onMutate: () => setSaid(null),
  });
  const update = useMutation({
    mutationFn: async (changes: Changes) => {
      setSaid("The change is being signed.");
      const { transaction_hash: hash = "" } = await api.put("/v0/contracts/collections", { body: bodyOf(changes) });
      const controller = new AbortController();
      setLeave(() => () => controller.abort());
      for (;;) {
        const waits = await waitsFor(chain, hash);
        if (waits === null) break;
        setSaid(`${waits} Transaction ${hash}`);
        await pause(1_000);
        if (controller.signal.aborted)
          return setSaid(
            `The service goes on with the change; it shows here once it is confirmed. Transaction ${hash}`,
          );
      }
      await client.invalidateQueries({ queryKey: ["collections"] });
      await client.invalidateQueries({ queryKey: ["sale"] });
      setSaid(`The change is on the chain. Transaction ${hash}`);
      check.reset();
    },
    onError: () => setSaid(null),
    onSettled: () => setLeave(null),
  });
  return {
    said,
    /** Stops waiting for the transaction, but not the transaction; null while nothing is awaited. */
    leave,
    check: check.mutate,
    send: update.mutate,
    isPending: update.isPending || check.isPending,
    error: check.error ?? update.error,
    /** @returns the dry run's result for exactly these changes; null without one. */
    planOf: (changes: Changes): UpdatePlan | null =>
      check.data?.of === JSON.stringify(changes) ? check.data.plan : null,
  };
}

/** @returns what a transaction is waiting for; null when it is confirmed. */
async function waitsFor(chain: string, hash: string): Promise<string | null> {
  try {
    await api.get("/v0/contracts/{transaction_hash}", { path: { transaction_hash: hash }, query: { chain } });
    return null;
  } catch (error) {
    if (error instanceof MintyardError && error.code === "transaction_pending") return error.message;
    throw error;
  }
}
