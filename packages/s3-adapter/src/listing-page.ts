import type { ObjectStat } from '@tiered/core';
import { etagOf, type Answer } from './answers.js';
import type { S3Client } from './client.js';
import { wrongAnswer } from './failure.js';
import { leaves } from './xml.js';

/** Which page of a listing. */
export interface PageRequest {
  readonly prefix: string;
  /** Only keys after this one. */
  readonly startAfter?: string | undefined;
  /** Where the page before ended. */
  readonly token?: string | undefined;
  /** Keys that go on after this character are given as what stands before it, once. */
  readonly delimiter?: string;
}

/** A page of a listing, keys as S3 has them. */
export interface Page {
  readonly objects: readonly ObjectStat[];
  /** What keys with the delimiter begin with. */
  readonly prefixes: readonly string[];
  /** For the next page; undefined on the last. */
  readonly next: string | undefined;
}

/** Asks for a page (ListObjectsV2). */
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
  return client.retry(signal, async () =>
    parsePage(await client.send({ method: 'GET', query }, undefined, signal)),
  );
}

/** What is known of an object so far. */
type Draft = Record<string, string>;

function parsePage({ status, body }: Answer): Page {
  const fields = new Map<string, string>();
  const drafts: Draft[] = [];
  const prefixes: string[] = [];
  try {
    for (const [path, text] of leaves(body)) {
      const [root, child = '', name] = path.split('/');
      if (root !== 'ListBucketResult') throw new Error(`Unexpected ${path}`);
      if (child === 'CommonPrefixes') prefixes.push(text);
      else if (child !== 'Contents') fields.set(child, text);
      else if (name === 'Key') drafts.push({ Key: text });
      else if (name !== undefined) (drafts.at(-1) ?? {})[name] = text;
    }
    const decode = fields.get('EncodingType') === 'url' ? decodeUrl : (text: string) => text;
    const next = fields.get('IsTruncated') === 'true' ? fields.get('NextContinuationToken') : undefined;
    if (fields.get('IsTruncated') === 'true' && next === undefined) throw new Error('No token');
    return {
      objects: drafts.map((draft) => objectOf(draft, decode)),
      prefixes: prefixes.map(decode),
      next,
    };
  } catch {
    throw wrongAnswer(
      status,
      'MalformedListing',
      'the answer is no page of ListObjectsV2; check the endpoint',
    );
  }
}

function objectOf({ Key, Size, ETag }: Draft, decode: (text: string) => string): ObjectStat {
  if (Key === undefined || ETag === undefined || Size === undefined || !/^\d{1,15}$/.test(Size))
    throw new Error('An object without key, size or ETag');
  return { key: decode(Key), size: Number(Size), version: etagOf(ETag) };
}

/** AWS writes a space as `+`; a plus is `%2B` with every server. */
function decodeUrl(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
