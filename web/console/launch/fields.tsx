import type { ChangeEvent, HTMLInputTypeAttribute } from "react";
import { isAddress } from "viem/utils";
import { checksummed, Identicon } from "../address.tsx";
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
}

/** One member of the draft. */
export function Field({ draft, change, member, label, hint, type = "text", optional = false }: FieldProps) {
  return (
    <label>
      {label}
      {hint && <span className="hint">{hint}</span>}
      <input
        type={type}
        required={!optional}
        value={draft[member]}
        spellCheck="false"
        autoComplete="off"
        {...(type === "number" ? { min: 0, step: "any" } : {})}
        onChange={(event: ChangeEvent<HTMLInputElement>) => change({ [member]: event.target.value })}
      />
    </label>
  );
}

export const addressPattern = "\\s*0x[0-9a-fA-F]{40}\\s*";

/** An address of the draft, shown in full at every width; below it the same with its checksum and picture. */
export function AddressField({ draft, change, member, label, hint, optional = false }: FieldProps) {
  const text = draft[member];
  const isWritten = isAddress(text.trim(), { strict: false });
  const say = (element: HTMLTextAreaElement | null) => {
    const isRight = isWritten || (optional && text.trim() === "");
    element?.setCustomValidity(isRight ? "" : "An address is 0x and 40 digits or letters from a to f.");
  };
  return (
    <div className="stack tight wide">
      <label>
        {label}
        {hint && <span className="hint">{hint}</span>}
        <textarea
          ref={say}
          className="address-field"
          rows={2}
          value={text}
          spellCheck="false"
          autoComplete="off"
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
          onChange={(event) => change({ [member]: event.target.value.replaceAll(/\s+/g, "") })}
        />
      </label>
      {isWritten && (
        <span className="address small quiet">
          <Identicon address={text.trim()} />
          <span>
            With its checksum: <code>{checksummed(text)}</code>
          </span>
        </span>
      )}
    </div>
  );
}
