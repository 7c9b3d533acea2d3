import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { modifiedOf } from '../protocol/found-object.js';
import { invalidArgument } from '../protocol/s3-error.js';
import { element, escapeXml, xmlDocument } from '../protocol/xml.js';
import type { ReadCall } from './call.js';
import { BEHIND_KEY, byteString, type ListedObject, type Page } from './page.js';

/** ListObjectsV2. */
export async function listObjectsV2(call: ReadCall): Promise<Answer> {
  const { query } = call.request;
  if (query.get('list-type') !== '2') {
    throw invalidArgument('list-type', query.get('list-type') ?? '', 'Only listings of type 2 are known.');
  }
  const token = query.get('continuation-token');
  const from = token === null ? startAfter(given(query, 'start-after')) : decodeToken(token);
  const maxKeys = maxKeysOf(call);
  const isContinued = token !== null;
  const page = await call.storage.list({ ...asked(query), from, maxKeys, isContinued }, call.signal);
  const { next, id, objects, commonPrefixes } = page;
  const encoded = encoderOf(query);
  return listing(call, page, maxKeys, [
    echoed(query, 'StartAfter', 'start-after', encoded),
    echoed(query, 'ContinuationToken', 'continuation-token'),
    element('KeyCount', String(objects.length + commonPrefixes.length)),
    next === undefined ? '' : element('NextContinuationToken', encodeToken(next, id)),
  ]);
}

/** ListObjects, version 1: a page continues after the marker, a key or a common prefix. */
export async function listObjects(call: ReadCall): Promise<Answer> {
  const { query } = call.request;
  const marker = given(query, 'marker');
  const maxKeys = maxKeysOf(call);
  const page = await call.storage.list(
    { ...asked(query), from: startAfter(marker), passed: marker, maxKeys },
    call.signal,
  );
  const encoded = encoderOf(query);
  const last = lastOf(page);
  return listing(call, page, maxKeys, [
    element('Marker', encoded(query.get('marker') ?? '')),
    page.next === undefined || last === undefined ? '' : element('NextMarker', encoded(last)),
  ]);
}

function listing(
  { request: { query, bucket } }: ReadCall,
  page: Page,
  maxKeys: number,
  own: readonly string[],
): Answer {
  const encoded = encoderOf(query);
  const content = [
    element('Name', bucket),
    element('Prefix', encoded(query.get('prefix') ?? '')),
    echoed(query, 'Delimiter', 'delimiter', encoded),
    echoed(query, 'EncodingType', 'encoding-type'),
    ...own,
    element('MaxKeys', String(maxKeys)),
    element('IsTruncated', String(page.next !== undefined)),
    ...page.objects.map((object) => describeObject(object, encoded)),
    ...page.commonPrefixes.map(
      (prefix) => `<CommonPrefixes>${element('Prefix', encoded(prefix))}</CommonPrefixes>`,
    ),
  ];
  return xmlAnswer(xmlDocument('ListBucketResult', content.join('')));
}

type Encode = (text: string) => string;

const plainly: Encode = (text) => text;

function encoderOf(query: URLSearchParams): Encode {
  return query.get('encoding-type') === 'url' ? encodeUrl : plainly;
}

function given(query: URLSearchParams, name: string): string {
  return byteString(query.get(name) ?? '');
}

function asked(query: URLSearchParams) {
  return { prefix: given(query, 'prefix'), delimiter: given(query, 'delimiter') };
}

function echoed(query: URLSearchParams, name: string, parameter: string, encode = plainly): string {
  const value = query.get(parameter);
  return value === null ? '' : element(name, encode(value));
}

function maxKeysOf({ request: { query }, pageSize }: ReadCall): number {
  const text = query.get('max-keys');
  if (text === null) return pageSize;
  if (/^\d{1,10}$/.test(text)) return Math.min(Number(text), pageSize);
  throw invalidArgument('max-keys', text, 'Provided max-keys not an integer or within integer range');
}

function startAfter(key: string): string {
  return key === '' ? '' : key + BEHIND_KEY;
}

/** The last key or common prefix on a page. */
function lastOf({ objects, commonPrefixes }: Page): string | undefined {
  const [key, prefix] = [objects.at(-1)?.key, commonPrefixes.at(-1)];
  if (key === undefined || prefix === undefined) return key ?? prefix;
  return byteString(key) > byteString(prefix) ? key : prefix;
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

function describeObject(object: ListedObject, encoded: Encode): string {
  const { key, size, etag } = object;
  return (
    `<Contents><Key>${escapeXml(encoded(key))}</Key><LastModified>${modifiedOf(object).toISOString()}</LastModified>` +
    `<ETag>${escapeXml(etag)}</ETag><Size>${size}</Size><StorageClass>STANDARD</StorageClass></Contents>`
  );
}

/** Encodes as S3 does: like forms (a space becomes `+`), but `/` and `*` stay. */
function encodeUrl(text: string): string {
  return encodeURIComponent(text).replace(/%2F|%20|[!'()~]/g, (char) =>
    char === '%2F' ? '/' : char === '%20' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
