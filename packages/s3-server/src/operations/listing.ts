import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { invalidArgument } from '../protocol/s3-error.js';
import { element, escapeXml, xmlDocument } from '../protocol/xml.js';
import { byteString, textOfByteString, type Bucket } from '../storage.js';
import type { Call } from './call.js';

interface ListingOptions {
  /** All texts here are byte strings, as the sorted keys are. */
  readonly prefix: string;
  readonly delimiter: string;
  /** The index of the first key that may be listed. */
  readonly from: number;
  readonly maxKeys: number;
}

interface Page {
  readonly keys: readonly string[];
  readonly commonPrefixes: readonly string[];
  /** Where the next page begins. Undefined after the last one. */
  readonly next: string | undefined;
  /** Makes the token differ from those of other pages that continue at the same place. */
  readonly id?: string;
}

/** This byte does not occur in UTF-8, so a prefix with it comes after all keys that begin with the prefix. */
const BEHIND_PREFIX = '\u00ff';
const BEHIND_KEY = '\u0000';

/** ListObjectsV2. Costs O(log n + keys of the page), and a sort after the bucket has changed. */
export function listObjects(call: Call): Answer {
  const { query } = call.request;
  const given = (name: string) => byteString(query.get(name) ?? '');
  if (query.get('list-type') !== '2') {
    throw invalidArgument('list-type', query.get('list-type') ?? '', 'Only listings of type 2 are known.');
  }
  const maxKeys = Math.min(maxKeysOf(query.get('max-keys')), call.pageSize);
  const sorted = call.bucket.sortedKeys();
  const prefix = given('prefix');
  const token = query.get('continuation-token');
  const after = token === null ? startAfter(given('start-after')) : decodeToken(token);
  const from = lowerBound(sorted, after > prefix ? after : prefix);
  const page = call.emptyPage
    ? emptyPage(after, call.newId())
    : takePage(sorted, { prefix, delimiter: given('delimiter'), from, maxKeys });
  return xmlAnswer(xmlDocument('ListBucketResult', describePage(call, page, maxKeys)));
}

function maxKeysOf(text: string | null): number {
  if (text === null) return Infinity;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw invalidArgument('max-keys', text, 'Provided max-keys not an integer or within integer range');
}

function startAfter(key: string): string {
  return key === '' ? '' : key + BEHIND_KEY;
}

function decodeToken(token: string): string {
  const [position = ''] = token.split('.');
  const text = Buffer.from(position, 'base64').toString('latin1');
  if (text !== '' && encodeToken(text) === position) return text;
  throw invalidArgument('continuation-token', token, 'The continuation token provided is incorrect');
}

function encodeToken(position: string, id?: string): string {
  const token = Buffer.from(position, 'latin1').toString('base64');
  return id === undefined ? token : `${token}.${id}`;
}

/** A page after which the next one begins at the same place. */
function emptyPage(after: string, id: string): Page {
  return { keys: [], commonPrefixes: [], next: after === '' ? BEHIND_KEY : after, id };
}

function takePage(sorted: readonly string[], { prefix, delimiter, from, maxKeys }: ListingOptions): Page {
  const keys: string[] = [];
  const commonPrefixes: string[] = [];
  let next = '';
  for (let at = from; at < sorted.length;) {
    const key = sorted[at] ?? '';
    if (!key.startsWith(prefix)) break;
    if (keys.length + commonPrefixes.length === maxKeys) {
      return { keys, commonPrefixes, next: maxKeys === 0 ? undefined : next };
    }
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (end === -1) {
      keys.push(key);
      next = key + BEHIND_KEY;
      at++;
    } else {
      const common = key.slice(0, end + delimiter.length);
      commonPrefixes.push(common);
      next = common + BEHIND_PREFIX;
      at = lowerBound(sorted, next);
    }
  }
  return { keys, commonPrefixes, next: undefined };
}

/** Returns the index of the first key that is not less. */
function lowerBound(sorted: readonly string[], wanted: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function describePage({ request, bucket }: Call, page: Page, maxKeys: number): string {
  const { query } = request;
  const byUrl = query.get('encoding-type') === 'url';
  const encoded = (text: string) => (byUrl ? encodeUrl(text) : text);
  const echoed = (name: string, parameter: string, encode: (text: string) => string) => {
    const value = query.get(parameter);
    return value === null ? '' : element(name, encode(value));
  };
  const prefixes = page.commonPrefixes.map(
    (prefix) => `<CommonPrefixes>${element('Prefix', encoded(textOfByteString(prefix)))}</CommonPrefixes>`,
  );
  const plain = (text: string) => text;
  return [
    element('Name', bucket.name),
    element('Prefix', encoded(query.get('prefix') ?? '')),
    echoed('Delimiter', 'delimiter', encoded),
    echoed('StartAfter', 'start-after', encoded),
    echoed('EncodingType', 'encoding-type', plain),
    echoed('ContinuationToken', 'continuation-token', plain),
    element('KeyCount', String(page.keys.length + page.commonPrefixes.length)),
    element('MaxKeys', String(maxKeys)),
    element('IsTruncated', String(page.next !== undefined)),
    page.next === undefined ? '' : element('NextContinuationToken', encodeToken(page.next, page.id)),
    ...page.keys.map((key) => describeKey(bucket, textOfByteString(key), encoded)),
    ...prefixes,
  ].join('');
}

function describeKey(bucket: Bucket, key: string, encoded: (text: string) => string): string {
  const object = bucket.get(key);
  if (object === undefined) return '';
  const modified = new Date(object.lastModified).toISOString();
  return (
    `<Contents><Key>${escapeXml(encoded(key))}</Key><LastModified>${modified}</LastModified>` +
    `<ETag>${escapeXml(object.etag)}</ETag><Size>${object.bytes.byteLength}</Size>` +
    '<StorageClass>STANDARD</StorageClass></Contents>'
  );
}

/** Encodes as S3 does: as forms do (a space becomes `+`), but `/` and `*` stay. */
function encodeUrl(text: string): string {
  return encodeURIComponent(text).replace(/%2F|%20|[!'()~]/g, (char) =>
    char === '%2F' ? '/' : char === '%20' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
