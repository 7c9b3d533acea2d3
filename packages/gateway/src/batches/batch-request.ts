import { z } from 'zod';
import { S3Error } from '../protocol/s3-error.js';

/** Path of requests for many objects, as in AIStore's GetBatch. A bucket may follow it. */
const PATH = { bucket: 'v1', key: 'ml/moss' } as const;

/** The headers that say in each answer where batches go, so that clients need not try. */
export const BATCHES_HERE: readonly string[] = ['x-tiered-batch', `/${PATH.bucket}/${PATH.key}`];

/** The header of a request for a batch that asks for the ETag of each entry. */
export const WITH_ETAGS = 'x-tiered-etags';

/** The header that asks for a checksum after the ETag of each entry: XXH64 of its bytes, in hexadecimal. */
export const WITH_SUMS = 'x-tiered-sums';

/** The fields that a request for many objects shares with the requests of S3. */
export interface BatchTarget {
  /** The bucket of items that name none. If empty, each item has to name one. */
  readonly bucket: string;
}

/** An object, or a range of one. */
export interface BatchItem {
  readonly bucket: string;
  readonly key: string;
  readonly start: number;
  /** Bytes. -1: to the end. 0, with a `start` of 0: all of it. */
  readonly length: number;
  /** Its name in the answer. */
  readonly name: string;
}

/** A request for many objects. */
export interface BatchRequest {
  /** In the order of the answer. */
  readonly items: readonly BatchItem[];
  /** Whether a missing item becomes an empty entry of the answer. Otherwise it becomes the answer's error. */
  readonly keepsOn: boolean;
  /** Whether each entry has the ETag of its object, and a missing one the status it would have on its own. */
  readonly withEtags: boolean;
  /** Whether entries of up to 1 MiB also have a checksum. */
  readonly withSums: boolean;
}

/**
 * Tells a request for many objects from all others. Its path would be that of a bucket `v1`, a name too short
 * for a bucket.
 */
export function asBatch({ bucket, key }: { bucket: string; key: string }): BatchTarget | undefined {
  if (bucket !== PATH.bucket || !`${key}/`.startsWith(`${PATH.key}/`)) return undefined;
  const named = key.slice(PATH.key.length + 1).replace(/\/$/, '');
  return named.includes('/') ? undefined : { bucket: named };
}

/** Options for a request for many objects that are not in its body. */
export interface BatchOptions {
  /** Most items of a batch. */
  readonly most: number;
  readonly withEtags: boolean;
  readonly withSums: boolean;
}

const none = z.literal('').optional();

/** AIStore's `apc.MossReq`. Its items are checked later. Other fields are ignored. */
const REQUEST = z.object({
  mime: z.enum(['', 'tar', '.tar']).optional(),
  in: z.array(z.unknown()).min(1),
  coer: z.boolean().default(false),
  onob: z.boolean().default(false),
  strm: z.literal(true),
});

/** AIStore's `apc.MossIn`. */
const ITEM = z
  .object({
    objname: z.string().min(1),
    bucket: z.string().default(''),
    uname: none,
    archpath: none,
    start: z.int().min(0).default(0),
    length: z.int().min(-1).default(0),
  })
  .refine(({ start, length }) => start === 0 || length !== 0, 'a start needs a length');

/**
 * Parses the body of a request for many objects. The first mistake ends the parsing, so a body costs no more
 * than its bytes.
 * @throws S3Error 400 `InvalidRequest` that names the field.
 */
export function parseBatch(
  body: Uint8Array,
  target: BatchTarget,
  { most, ...beside }: BatchOptions,
): BatchRequest {
  const { in: wanted, coer, onob } = parsed(REQUEST, jsonIn(body));
  if (wanted.length > most) throw invalid(`"in" may have ${most} items`);
  const items = wanted.map((one, index) => {
    const { objname: key, bucket, start, length } = parsed(ITEM, one, `in.${index}.`);
    const from = bucket === '' ? target.bucket : bucket;
    if (from === '') throw invalid('"bucket" of each item is needed, where the path names none');
    return { bucket: from, key, start, length, name: onob ? key : `${from}/${key}` };
  });
  return { items, keepsOn: coer, ...beside };
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, before = ''): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw invalid(`"${before}${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`);
}

function jsonIn(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    throw invalid('the body is not JSON');
  }
}

function invalid(what: string): S3Error {
  return new S3Error(
    400,
    'InvalidRequest',
    `This is no batch that is answered here: ${what}. Whole objects and ranges of them are, as a stream of .tar.`,
  );
}
