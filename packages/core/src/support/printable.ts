/**
 * A name as it may stand in records and tables: the end of one that is too long, which tells more of a path
 * than its beginning, and `?` for what cannot be printed.
 * @param most Characters that are left, as people count them: none is cut in two.
 */
export function printable(name: string, most: number): string {
  return [...name.replaceAll(/\p{C}/gu, '?')].slice(-most).join('');
}
