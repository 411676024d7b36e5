import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, get, send } from "../api.ts";
import type { Collection } from "../collections.ts";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Sends a change of a collection and follows it to the chain. `said` is its way; "done" is said of a confirmed one only. */
export function useUpdate({ chain, address }: Collection) {
  const client = useQueryClient();
  const [said, setSaid] = useState<string | null>(null);
  const update = useMutation({
    mutationFn: async (changes: Record<string, unknown>) => {
      setSaid("The change is being signed.");
      const body = { chain, contract_address: address, ...changes };
      const { transaction_hash: hash } = await send<{ transaction_hash: string }>(
        "PUT",
        "/v0/contracts/collections",
        body,
      );
      for (;;) {
        const waits = await waitsFor(chain, hash);
        if (waits === null) break;
        setSaid(waits);
        await pause(1_000);
      }
      await client.invalidateQueries({ queryKey: ["collections"] });
      await client.invalidateQueries({ queryKey: ["sale"] });
      setSaid("The change is on the chain.");
    },
    onError: () => setSaid(null),
  });
  return { said, send: update.mutate, isPending: update.isPending, error: update.error };
}

/** @returns what a transaction waits for; null when it is confirmed. */
async function waitsFor(chain: string, hash: string): Promise<string | null> {
  try {
    await get(`/v0/contracts/${hash}?chain=${chain}`);
    return null;
  } catch (error) {
    if (error instanceof ApiError && error.code === "transaction_pending") return error.message;
    throw error;
  }
}
