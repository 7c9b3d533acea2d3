import type { ObjectStat } from '@tiered/core';
import { etagOf, LARGEST_LIST_BYTES, type Answer } from '../http/answers.js';
import type { S3Client } from '../http/client.js';
import { wrongAnswer } from '../http/failure.js';
import { readLeavesInTurns, type LeafTaker } from '../http/xml.js';

/** The page of a listing to request. */
export interface PageRequest {
  readonly prefix: string;
  /** Only keys after this one. */
  readonly startAfter?: string | undefined;
  /** The token at the end of the previous page. */
  readonly token?: string | undefined;
  /** Keys that contain this character after the prefix are summarised: the part before it is listed once. */
  readonly delimiter?: string | undefined;
}

/** A page of a listing. Keys are as in S3. */
export interface Page {
  readonly objects: readonly ObjectStat[];
  /** The beginnings of keys that contain the delimiter. */
  readonly prefixes: readonly string[];
  /** The token of the next page. Undefined on the last one. */
  readonly next: string | undefined;
}

/** Requests a page (ListObjectsV2). A page may be empty without being the last. */
export function fetchPage(
  client: S3Client,
  { prefix, startAfter, token, delimiter }: PageRequest,
  signal: AbortSignal | undefined,
): Promise<Page> {
  const query = {
    'list-type': '2',
    'encoding-type': 'url',
    ...(prefix !== '' && { prefix }),
    ...(delimiter !== undefined && { delimiter }),
    ...(startAfter !== undefined && { 'start-after': startAfter }),
    ...(token !== undefined && { 'continuation-token': token }),
  };
  const request = { method: 'GET', query, answerBytes: LARGEST_LIST_BYTES } as const;
  return client.retry(signal, async () =>
    parsePage(client, await client.send(request, undefined, signal), signal),
  );
}

/** The fields of an object read so far. */
type Draft = Record<string, string | undefined>;

/** The fields of the page itself. */
const FIELDS = new Set(['EncodingType', 'IsTruncated', 'NextContinuationToken']);
/** The fields of an object that are used. */
const OF_OBJECT = new Set(['Key', 'Size', 'ETag']);

async function parsePage(
  { clock }: S3Client,
  { status, body }: Answer,
  signal: AbortSignal | undefined,
): Promise<Page> {
  const fields = new Map<string, string>();
  const drafts: Draft[] = [];
  const prefixes: string[] = [];
  // Servers send the fields of an object in any order.
  let draft: Draft | undefined;
  const opened = (names: readonly string[]) => {
    if (names.length === 2) draft = undefined;
  };
  const take: LeafTaker = ([root, child = '', name = ''], text) => {
    if (root !== 'ListBucketResult') throw new Error('Not a ListBucketResult');
    if (child === 'CommonPrefixes') prefixes.push(text);
    else if (FIELDS.has(child)) fields.set(child, text);
    else if (child === 'Contents' && OF_OBJECT.has(name)) {
      if (draft === undefined) drafts.push((draft = {}));
      draft[name] = text;
    }
  };
  try {
    await readLeavesInTurns(body, take, { clock, signal, opened });
    const decode = fields.get('EncodingType') === 'url' ? decodeUrl : (text: string) => text;
    return {
      objects: drafts.flatMap((draft) => objectOf(draft, decode) ?? []),
      prefixes: prefixes.map(decode),
      next: nextOf(fields),
    };
  } catch {
    signal?.throwIfAborted();
    throw wrongAnswer(
      status,
      'MalformedListing',
      'the answer is not a page of ListObjectsV2; check the endpoint',
    );
  }
}

/** The token of the next page. The listing must not end here unless this is certainly the last page. */
function nextOf(fields: ReadonlyMap<string, string>): string | undefined {
  const next = fields.get('NextContinuationToken');
  const truncated = fields.get('IsTruncated') ?? String(Boolean(next));
  if (truncated === 'false') return undefined;
  if (truncated !== 'true' || !next) throw new Error('It goes on, but where is not said');
  return next;
}

/** Undefined for a directory of the server. Some list these among the objects, with nothing but a name. */
function objectOf({ Key, Size = '', ETag }: Draft, decode: (text: string) => string): ObjectStat | undefined {
  if (Key !== undefined && ETag === undefined && /^0?$/.test(Size) && decode(Key).endsWith('/'))
    return undefined;
  if (Key === undefined || ETag === undefined || !/^\d{1,15}$/.test(Size))
    throw new Error('An object without key, size or ETag');
  return { key: decode(Key), size: Number(Size), version: etagOf(ETag) };
}

/** AWS writes a space as `+`. A plus is `%2B` with every server. */
function decodeUrl(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
