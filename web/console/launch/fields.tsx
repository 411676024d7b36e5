import type { ChangeEvent, HTMLInputTypeAttribute } from "react";
import type { Draft } from "./draft.ts";

export interface StepProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}

type TextMember = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft];

interface FieldProps extends StepProps {
  member: TextMember;
  label: string;
  hint?: string;
  type?: HTMLInputTypeAttribute;
  optional?: boolean;
  pattern?: string;
}

/** One member of the draft. */
export function Field({ draft, change, member, label, hint, type = "text", optional = false, pattern }: FieldProps) {
  return (
    <label>
      {label}
      {hint && <span className="hint">{hint}</span>}
      <input
        type={type}
        required={!optional}
        value={draft[member]}
        spellCheck={false}
        autoComplete="off"
        {...(pattern === undefined ? {} : { pattern })}
        {...(type === "number" ? { min: 0, step: "any" } : {})}
        onChange={(event: ChangeEvent<HTMLInputElement>) => change({ [member]: event.target.value })}
      />
    </label>
  );
}

export const addressPattern = "\\s*0x[0-9a-fA-F]{40}\\s*";
