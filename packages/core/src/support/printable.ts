/**
 * Makes a name printable for records and tables. A name that is too long keeps its end, which says more about
 * a path than its beginning. Unprintable characters become `?`.
 * @param most The most characters to keep, as people count them: none is cut in two.
 */
export function printable(name: string, most: number): string {
  return [...name.replaceAll(/\p{C}/gu, '?')].slice(-most).join('');
}
