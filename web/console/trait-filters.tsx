export interface Trait {
  name: string;
  tokenCount: number;
  /** The most frequent ones. */
  values: { value: string; tokenCount: number }[];
}

/** The chosen value of each trait. */
export type TraitChoice = Readonly<Record<string, string>>;

/** As GraphQL takes it; null: all tokens. */
export function filterOf(chosen: TraitChoice): { and: { name: string; values: string[] }[] } | null {
  const and = Object.entries(chosen).flatMap(([name, value]) => (value === "" ? [] : [{ name, values: [value] }]));
  return and.length === 0 ? null : { and };
}

interface FilterProps {
  traits: readonly Trait[];
  chosen: TraitChoice;
  choose: (chosen: TraitChoice) => void;
}

/** One choice for each trait; a token has to match all of them. */
export function TraitFilters({ traits, chosen, choose }: FilterProps) {
  return (
    <fieldset className="fields">
      <legend className="label">Only tokens with</legend>
      {traits.slice(0, 12).map(({ name, values }) => (
        <label key={name}>
          {name}
          <select value={chosen[name] ?? ""} onChange={(event) => choose({ ...chosen, [name]: event.target.value })}>
            <option value="">any</option>
            {values.map(({ value, tokenCount }) => (
              <option key={value} value={value}>
                {value} ({tokenCount.toLocaleString()})
              </option>
            ))}
          </select>
        </label>
      ))}
    </fieldset>
  );
}
