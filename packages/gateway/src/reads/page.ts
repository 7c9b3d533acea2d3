import type { FoundObject } from '../protocol/found-object.js';

/** The page of a listing to return. All texts are byte strings, see `byteString`. */
export interface PageOptions {
  readonly prefix: string;
  /** Keys that have it after the prefix are grouped into a common prefix. Empty: none. */
  readonly delimiter: string;
  /** The page has no key before this one. */
  readonly from: string;
  /** A common prefix that is not returned again: an earlier page ended with it, or inside it. */
  readonly passed?: string | undefined;
  readonly maxKeys: number;
  /** Whether the page continues an earlier page of the same listing. Default: false. */
  readonly isContinued?: boolean | undefined;
}

/** An object in a listing. */
export interface ListedObject extends Pick<FoundObject, 'size' | 'etag' | 'lastModified'> {
  readonly key: string;
}

/** A page of a listing. Keys and prefixes are texts, in the order of their UTF-8. */
export interface Page {
  readonly objects: readonly ListedObject[];
  readonly commonPrefixes: readonly string[];
  /** Where the next page begins, as a byte string. Undefined after the last one. */
  readonly next: string | undefined;
  /** Makes the token differ from those of other pages that continue at the same place. */
  readonly id?: string | undefined;
}

/** Keys in the order of their UTF-8, as byte strings. */
export interface SortedKeys {
  readonly count: number;
  keyAt(index: number): string;
  /** Describes the object at this index. Undefined if it is gone. */
  objectAt(index: number): ListedObject | undefined;
}

/** This byte does not occur in UTF-8, so a prefix followed by it sorts after all keys with the prefix. */
const BEHIND_PREFIX = '\u00ff';

/** A key followed by this sorts before all other keys after it. */
export const BEHIND_KEY = '\u0000';

/** Takes a page of keys. Costs O(log n + keys of the page). */
export function takePage(
  keys: SortedKeys,
  { prefix, delimiter, from, passed = '', maxKeys }: PageOptions,
): Page {
  const objects: ListedObject[] = [];
  const commonPrefixes: string[] = [];
  const first = from > prefix ? from : prefix;
  let next = first;
  for (let at = lowerBound(keys, first); at < keys.count;) {
    const key = keys.keyAt(at);
    if (!key.startsWith(prefix)) break;
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const common = end === -1 ? undefined : key.slice(0, end + delimiter.length);
    const object = keys.objectAt(at);
    if (object === undefined || (common !== undefined && passed.startsWith(common))) {
      at = object === undefined || common === undefined ? at + 1 : lowerBound(keys, common + BEHIND_PREFIX);
      continue;
    }
    if (objects.length + commonPrefixes.length === maxKeys)
      return { objects, commonPrefixes, next: maxKeys === 0 ? undefined : next };
    if (common === undefined) {
      objects.push(object);
      next = key + BEHIND_KEY;
      at++;
    } else {
      commonPrefixes.push(textOfByteString(common));
      next = common + BEHIND_PREFIX;
      at = lowerBound(keys, next);
    }
  }
  return { objects, commonPrefixes, next: undefined };
}

/** Returns the index of the first key that is not less. */
function lowerBound(keys: SortedKeys, wanted: string): number {
  let low = 0;
  let high = keys.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys.keyAt(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the UTF-8 of a text, one character per byte. JavaScript compares such texts as S3 compares keys.
 * ASCII stays the same.
 */
export function byteString(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Returns the text that `byteString` made this from. */
export function textOfByteString(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
