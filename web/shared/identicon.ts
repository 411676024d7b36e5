const side = 5;
const half = 3;

/** A small picture derived from an address, so that different addresses look different at a glance. */
export interface Identicon {
  /** Path in an SVG of five by five units. */
  path: string;
  colour: string;
}

/** @param address in upper, lower or mixed case. */
export function identiconOf(address: string): Identicon {
  let state = 2_166_136_261;
  for (const letter of address.toLowerCase()) state = Math.imul(state ^ letter.charCodeAt(0), 16_777_619);
  const next = () => {
    state = Math.imul(state ^ (state >>> 15), 2_246_822_519);
    state ^= state >>> 13;
    return state >>> 0;
  };
  const hue = next() % 360;
  const cells: string[] = [];
  for (let y = 0; y < side; y += 1)
    for (let x = 0; x < half; x += 1) {
      if (next() % 2 === 0) continue;
      cells.push(cellAt(x, y));
      if (side - 1 - x !== x) cells.push(cellAt(side - 1 - x, y));
    }
  return { path: cells.join(""), colour: `hsl(${hue} 55% 45%)` };
}

const cellAt = (x: number, y: number) => `M${x} ${y}h1v1h-1z`;
