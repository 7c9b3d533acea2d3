/** A number with its noun: `1 copy`, `1,200 copies`. */
export function countOf(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}

/** A share in whole percent. Of nothing, it is all. */
export function percentOf(part: number, whole: number): string {
  return `${whole === 0 ? 100 : Math.round((100 * part) / whole)} %`;
}
