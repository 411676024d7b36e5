import type { ReactNode } from "react";

interface TableProps {
  /** The table's content, for screen readers: `Table of holders`. */
  label: string;
  heads: readonly ReactNode[];
  /** Its rows. */
  children: ReactNode;
}

/** A table that scrolls if it is wider than the page. */
export function Table({ label, heads, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section className="scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its position
              <th key={at}>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
