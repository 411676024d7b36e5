import { useCallback, useState } from "react";
import { keep, readKept } from "../../shared/kept.ts";
import { type Draft, readDraft } from "./draft.ts";

const name = "mintyard-launch";

/** This browser's draft. `isKept` is false if the draft would be lost with the page. */
export function useDraft() {
  const [state, setState] = useState(() => ({ draft: readDraft(readKept(name)), isKept: true }));
  const change = useCallback((part: Partial<Draft>) => {
    setState(({ draft: before }) => {
      const draft = { ...before, ...part };
      return { draft, isKept: keep(name, JSON.stringify(draft)) };
    });
  }, []);
  const clear = useCallback(() => setState({ draft: readDraft(null), isKept: keep(name, null) }), []);
  return { ...state, change, clear };
}
