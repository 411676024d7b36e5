import { useState } from "react";

interface DangerButtonProps {
  /** The action, in a word: `Delete`. */
  word: string;
  /** The object of the action, for screen readers. */
  of: string;
  /** What is lost, in a sentence. */
  loss: string;
  disabled?: boolean;
  act: () => void;
}

/** Asks for confirmation, in the same place, before something is gone. */
export function DangerButton({ word, of, loss, disabled = false, act }: DangerButtonProps) {
  const [isAsked, setAsked] = useState(false);
  if (!isAsked)
    return (
      <button
        type="button"
        className="danger"
        aria-label={`${word} ${of}`}
        disabled={disabled}
        onClick={() => setAsked(true)}
      >
        {word}
      </button>
    );
  return (
    <span className="row" role="alert">
      <span className="small">{loss}</span>
      <button type="button" onClick={() => setAsked(false)}>
        Keep
        <span className="hidden"> {of}</span>
      </button>
      <button type="button" className="danger" disabled={disabled} onClick={act}>
        {word} for good
        <span className="hidden">: {of}</span>
      </button>
    </span>
  );
}
