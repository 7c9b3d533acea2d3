import { Encoder } from '@msgpack/msgpack';
import { TieredError } from '@tiered/core';
import { z } from 'zod';

/** The first word of both sides, to recognise strangers. */
export const PROTOCOL = 'tiered-prefetch';
/**
 * Incremented with every change that an older side would not understand. The header and `hello` never change.
 */
export const VERSION = 1;
/** Length, length of the body, id, type and three zeros; see docs/prefetch-protocol.md. */
export const HEADER_BYTES = 16;
/** Many times the longest key of any storage, which is 1 KiB in S3 and 4 KiB as a path. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Larger samples are sent in several frames. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

/** A type of frame: its number, the schema of its body, and whether raw bytes may follow. */
export interface FrameKind {
  readonly code: number;
  readonly body: z.ZodType;
  readonly payload: boolean;
}

/** The types of frames that one side sends. */
export type FrameSet = Readonly<Record<string, FrameKind>>;

/** A frame whose body has been checked. `payloadBytes` more bytes follow it. */
export type Frame<S extends FrameSet> = {
  [T in keyof S & string]: {
    readonly type: T;
    readonly id: number;
    readonly body: z.output<S[T]['body']>;
    readonly payloadBytes: number;
  };
}[keyof S & string];

const count = z.int().min(0);
const noBody = z.undefined();
const hello = { protocol: z.literal(PROTOCOL), version: count };
/** The place of a sample in shared memory, and the number by which it is released. */
const place = { offset: count.optional(), piece: count.optional() };

/** Frames that a client sends. */
export const CLIENT_FRAMES = {
  hello: { code: 1, body: z.object(hello), payload: false },
  take: {
    code: 2,
    body: z.object({ most: z.int().min(1), memory: z.boolean().optional(), lists: z.boolean().optional() }),
    payload: false,
  },
  read: { code: 3, body: z.object({ key: z.string(), offset: count, length: count }), payload: false },
  abort: { code: 4, body: noBody, payload: false },
  attach: { code: 5, body: z.object({ token: z.string() }), payload: false },
  share: { code: 6, body: noBody, payload: false },
  release: { code: 7, body: z.object({ first: count, count: z.int().min(1) }), payload: false },
} as const satisfies FrameSet;

/** Frames that a server sends. */
export const SERVER_FRAMES = {
  hello: {
    code: 1,
    body: z.object({
      ...hello,
      maxRequests: z.int().min(1),
      maxSamples: z.int().min(1),
      token: z.string().optional(),
      memoryBytes: z.int().min(1).optional(),
    }),
    payload: false,
  },
  sample: {
    code: 16,
    body: z.object({ key: z.string(), epoch: count, position: count, size: count, ...place }),
    payload: true,
  },
  data: { code: 17, body: noBody, payload: true },
  end: { code: 18, body: noBody, payload: false },
  error: {
    code: 19,
    body: z.object({
      code: z.string(),
      message: z.string(),
      retryable: z.boolean(),
      key: z.string().optional(),
    }),
    payload: false,
  },
  samples: {
    code: 20,
    body: z.object({ epoch: count, piece: count, keys: z.string(), places: z.instanceof(Uint8Array) }),
    payload: false,
  },
} as const satisfies FrameSet;

/** The head of a sample, which a server sends before its bytes. */
export type SampleHead = z.output<(typeof SERVER_FRAMES)['sample']['body']>;

/** A server's list of samples in shared memory; see sample-lists.ts. */
export type SampleList = z.output<(typeof SERVER_FRAMES)['samples']['body']>;

const encoder = new Encoder();

/**
 * Encodes the header and body of a frame. The payload is written after them, unchanged.
 * @throws TieredError `TIERED_KEY_INVALID` for a body above 64 KiB. Only a key can make it that long.
 */
export function encodeHead<K extends FrameKind>(
  kind: K,
  id: number,
  body: z.input<K['body']>,
  payloadBytes = 0,
): Buffer {
  const encoded = body === undefined ? new Uint8Array() : encoder.encodeSharedRef(body);
  if (encoded.byteLength > MAX_BODY_BYTES)
    throw new TieredError(
      'TIERED_KEY_INVALID',
      'The key is too long to be sent to another process; use one of less than 60 KiB.',
    );
  const head = Buffer.alloc(HEADER_BYTES + encoded.byteLength);
  head.writeUInt32BE(encoded.byteLength + payloadBytes, 0);
  head.writeUInt32BE(encoded.byteLength, 4);
  head.writeUInt32BE(id, 8);
  head.writeUInt8(kind.code, 12);
  head.set(encoded, HEADER_BYTES);
  return head;
}

/** Makes the error for bytes that break the protocol. */
export function malformed(what: string, cause?: unknown): TieredError {
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `The other side of the prefetcher's socket does not keep to the protocol: ${what}. The connection is closed.`,
    { cause },
  );
}
