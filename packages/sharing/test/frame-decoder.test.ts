import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameDecoder } from '../src/wire/frame-decoder.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  HEADER_BYTES,
  MAX_BODY_BYTES,
  MAX_PAYLOAD_BYTES,
  SERVER_FRAMES,
} from '../src/wire/protocol.js';
import { withCode } from './helpers.js';

const counts = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const ids = fc.nat({ max: 2 ** 32 - 1 });
const payloads = fc.uint8Array({ maxLength: 300 });
const sampleBodies = fc.record({
  key: fc.string({ unit: 'grapheme', maxLength: 40 }),
  epoch: counts,
  position: counts,
  size: counts,
});

/** A frame as it is said, and its bytes. */
const frames = fc.oneof(
  fc.tuple(ids, sampleBodies, payloads).map(([id, body, payload]) => ({
    said: { type: 'sample', id, body, payload: [...payload] },
    bytes: Buffer.concat([encodeHead(SERVER_FRAMES.sample, id, body, payload.byteLength), payload]),
  })),
  fc.tuple(ids, payloads).map(([id, payload]) => ({
    said: { type: 'data', id, body: undefined, payload: [...payload] },
    bytes: Buffer.concat([encodeHead(SERVER_FRAMES.data, id, undefined, payload.byteLength), payload]),
  })),
  ids.map((id) => ({
    said: { type: 'end', id, body: undefined, payload: [] as number[] },
    bytes: encodeHead(SERVER_FRAMES.end, id, undefined),
  })),
);

/** What a decoder makes of chunks; payloads are put together again. */
function decoded(chunks: Iterable<Uint8Array>): unknown[] {
  const decoder = new FrameDecoder(SERVER_FRAMES);
  const found: { type: string; id: number; body: unknown; payload: number[] }[] = [];
  for (const chunk of chunks) {
    for (const frame of decoder.push(chunk)) {
      if (frame.type === 'payload') found.at(-1)?.payload.push(...frame.bytes);
      else found.push({ type: frame.type, id: frame.id, body: frame.body, payload: [] });
    }
    // The memory of a chunk is used again.
    chunk.fill(0);
  }
  return found;
}

function* split(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.byteLength; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield Uint8Array.from(bytes.subarray(at, at + size));
    at += size;
  }
}

describe('frames', () => {
  it('are the same, however the stream is cut into chunks', () => {
    const chunkSizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 12 }), chunkSizes, (list, sizes) => {
        const stream = Buffer.concat(list.map(({ bytes }) => bytes));
        expect(decoded(split(stream, sizes))).toEqual(list.map(({ said }) => said));
      }),
    );
  });

  it('any bytes are frames or TIERED_DATA_CORRUPT, never anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          for (const frame of new FrameDecoder(CLIENT_FRAMES).push(bytes))
            expect(frame.type).toBeTypeOf('string');
        } catch (error) {
          expect(error).toEqual(withCode('TIERED_DATA_CORRUPT'));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('any body is what it must be or TIERED_DATA_CORRUPT, and the next decoder does not notice', () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.anything({ maxDepth: 3 }).map((value) => safelyEncoded(value)),
    );
    const good = encodeHead(CLIENT_FRAMES.take, 1, { most: 5 });
    fc.assert(
      fc.property(bodies, (body) => {
        const frame = frameOf(2, body);
        try {
          for (const { type } of new FrameDecoder(CLIENT_FRAMES).push(frame)) expect(type).toBe('take');
        } catch (error) {
          expect(error).toEqual(withCode('TIERED_DATA_CORRUPT'));
        }
        expect([...new FrameDecoder(CLIENT_FRAMES).push(good)]).toEqual([
          { type: 'take', id: 1, body: { most: 5 }, payloadBytes: 0 },
        ]);
      }),
      { numRuns: 1000 },
    );
  });

  const refused: Record<string, Uint8Array> = {
    'an unknown type': header({ type: 99 }),
    'a type that only a server sends': header({ type: SERVER_FRAMES.end.code }),
    'a payload where none may be': header({ type: CLIENT_FRAMES.abort.code, length: 1 }),
    'a body above the limit': header({ type: 3, length: MAX_BODY_BYTES + 1, body: MAX_BODY_BYTES + 1 }),
    'a body longer than the frame': header({ type: 3, length: 3, body: 4 }),
    'a header that does not end with zeros': header({ type: 4, last: 1 }),
    'no body where one must be': header({ type: CLIENT_FRAMES.take.code }),
    'a body where none may be': frameOf(CLIENT_FRAMES.abort.code, encode({})),
    'nil for a body': frameOf(CLIENT_FRAMES.abort.code, encode(null)),
    'a field missing': frameOf(CLIENT_FRAMES.read.code, encode({ key: 'a', offset: 0 })),
    'a fraction': frameOf(CLIENT_FRAMES.take.code, encode({ most: 1.5 })),
    'a number below its range': frameOf(CLIENT_FRAMES.take.code, encode({ most: 0 })),
    'a number that is not exact': frameOf(CLIENT_FRAMES.take.code, encode({ most: 2 ** 60 })),
    'more after the body': frameOf(CLIENT_FRAMES.take.code, Buffer.concat([encode({ most: 1 }), encode(1)])),
    'an array that claims 2^32 - 1 elements': frameOf(2, Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])),
    'a map that claims 2^32 - 1 fields': frameOf(2, Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff])),
    'a text that claims 4 GiB': frameOf(2, Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff])),
    'maps in maps, as deep as a body can be': frameOf(
      2,
      Buffer.alloc(MAX_BODY_BYTES, Buffer.from([0x81, 0xa0])),
    ),
    'an array in a body': frameOf(CLIENT_FRAMES.take.code, encode({ most: 1, list: [1] })),
    'more than 32 fields': frameOf(
      CLIENT_FRAMES.take.code,
      encode({ most: 1, ...Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`f${i}`, i])) }),
    ),
    'the key __proto__': frameOf(2, encode(JSON.parse('{"__proto__": {"most": 1}}'))),
  };

  for (const [what, bytes] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      const decoder = new FrameDecoder(CLIENT_FRAMES);
      expect(() => [...decoder.push(bytes)]).toThrow(withCode('TIERED_DATA_CORRUPT'));
    });
  }

  it('a payload of 16 MiB passes, and one byte more does not', () => {
    const payload = (length: number) => header({ type: SERVER_FRAMES.data.code, length });
    const decoder = () => new FrameDecoder(SERVER_FRAMES);
    expect([...decoder().push(payload(MAX_PAYLOAD_BYTES))]).toHaveLength(1);
    expect(() => [...decoder().push(payload(MAX_PAYLOAD_BYTES + 1))]).toThrow(
      withCode('TIERED_DATA_CORRUPT'),
    );
  });

  it('fields that are not known yet are passed over', () => {
    const frame = frameOf(CLIENT_FRAMES.take.code, encode({ most: 3, later: 'x' }));
    expect([...new FrameDecoder(CLIENT_FRAMES).push(frame)]).toMatchObject([{ body: { most: 3 } }]);
  });

  it('a key that fits no body is refused before it is sent', () => {
    const body = { key: 'k'.repeat(MAX_BODY_BYTES), offset: 0, length: 1 };
    expect(() => encodeHead(CLIENT_FRAMES.read, 1, body)).toThrow(withCode('TIERED_KEY_INVALID'));
  });
});

function header({ type = 0, length = 0, body = 0, last = 0 }): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(body, 4);
  bytes.writeUInt8(type, 12);
  bytes.writeUInt8(last, 15);
  return bytes;
}

function frameOf(type: number, body: Uint8Array): Buffer {
  return Buffer.concat([header({ type, length: body.byteLength, body: body.byteLength }), body]);
}

function safelyEncoded(value: unknown): Uint8Array {
  try {
    return encode(value);
  } catch {
    return new Uint8Array();
  }
}
