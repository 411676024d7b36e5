import { type FormEvent, useEffect, useRef } from "react";
import { ArtworkStep } from "../launch/artwork-step.tsx";
import { DeployStep } from "../launch/deploy-step.tsx";
import { type Draft, readAllowlist } from "../launch/draft.ts";
import { CollectionStep, MoneyStep, SaleStep } from "../launch/setting-steps.tsx";
import { useDraft } from "../launch/use-draft.ts";

const steps = ["Artwork", "Collection", "Sale", "Money", "Review and deploy"];

/** Whether a step has everything that the next one needs. */
function isComplete(draft: Draft): boolean {
  if (draft.step === 0) return draft.baseUri !== "";
  return draft.step !== 2 || draft.presaleStart === "" || readAllowlist(draft.allowlist).wrong.length === 0;
}

/** Five steps that can be left and resumed. */
export function LaunchPage() {
  const { draft, isKept, change, clear } = useDraft();
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(draft.step);
  useEffect(() => {
    if (shown.current === draft.step) return;
    shown.current = draft.step;
    heading.current?.focus();
  }, [draft.step]);
  const next = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete(draft)) change({ step: draft.step + 1, idempotencyKey: "" });
  };
  const props = { draft, change };
  const last = draft.step === steps.length - 1;
  return (
    <div className="stack">
      <h1>Launch a collection</h1>
      <ol className="wizard small" aria-label="Steps">
        {steps.map((name, at) => (
          <li
            key={name}
            className={at < draft.step ? "passed" : ""}
            aria-current={at === draft.step ? "step" : undefined}
          >
            {name}
          </li>
        ))}
      </ol>
      {!isKept && (
        <p className="notice warn">
          This browser keeps nothing of the launch: it is in a private window, or its store is full. Finish it before
          you leave this page.
        </p>
      )}
      <form className="card stack" onSubmit={next}>
        <h2 ref={heading} tabIndex={-1}>
          {steps[draft.step]}
        </h2>
        {draft.step === 0 && <ArtworkStep {...props} />}
        {draft.step === 1 && <CollectionStep {...props} />}
        {draft.step === 2 && <SaleStep {...props} />}
        {draft.step === 3 && <MoneyStep {...props} />}
        {last && <DeployStep {...props} clear={clear} />}
        {draft.transactionHash === "" && !draft.deploying && (
          <div className="row apart">
            <button type="button" disabled={draft.step === 0} onClick={() => change({ step: draft.step - 1 })}>
              Back
            </button>
            {!last && (
              <button type="submit" className="main" disabled={!isComplete(draft)}>
                Next
              </button>
            )}
          </div>
        )}
      </form>
    </div>
  );
}
