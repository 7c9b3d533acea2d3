import { encodeHead, malformed, SERVER_FRAMES, type SampleHead, type SampleList } from './protocol.js';

/** What a client is told of a sample that lies in memory shared with it. */
export type PlacedHead = SampleHead & { readonly offset: number; readonly piece: number };

/** Of one sample: its position in eight bytes, its offset and its size in four each. */
const RECORD_BYTES = 16;

/** Between keys. No storage takes a key that has it. */
const SEPARATOR = '\0';

/** Bytes of the body at most, as they are estimated here: room is left for its fields. */
const LIST_BYTES = 60 * 1024;

/** UTF-8 takes no more of a character of JavaScript. */
const CHARACTER_BYTES = 3;

const HIGH = 2 ** 32;

/** Whether a sample may be in a list with others. */
export function isListable({ key }: Pick<SampleHead, 'key'>): boolean {
  return !key.includes(SEPARATOR) && bytesIn(key) <= LIST_BYTES;
}

/**
 * The frames of samples of one epoch, which are listable and whose pieces follow each other: as few as they
 * fit into. A frame for each costs the server some 1 us a sample more, and the client 2.
 */
export function listFrames(id: number, samples: readonly PlacedHead[]): Buffer[] {
  const frames: Buffer[] = [];
  let begin = 0;
  let bytes = 0;
  for (const [i, { key }] of samples.entries()) {
    bytes += bytesIn(key);
    if (bytes <= LIST_BYTES) continue;
    frames.push(listFrame(id, samples.slice(begin, i)));
    [begin, bytes] = [i, bytesIn(key)];
  }
  if (begin < samples.length) frames.push(listFrame(id, samples.slice(begin)));
  return frames;
}

/**
 * What was listed.
 * @throws TieredError `TIERED_DATA_CORRUPT` if it is no list.
 */
export function* listedSamples({ epoch, piece, keys, places }: SampleList): Generator<PlacedHead, void> {
  const names = keys.split(SEPARATOR);
  if (places.byteLength !== names.length * RECORD_BYTES)
    throw malformed(`${places.byteLength} bytes are no places of ${names.length} samples`);
  const records = new DataView(places.buffer, places.byteOffset, places.byteLength);
  for (const [i, key] of names.entries()) {
    const at = i * RECORD_BYTES;
    const position = records.getUint32(at) * HIGH + records.getUint32(at + 4);
    if (!Number.isSafeInteger(position)) throw malformed(`a sample at position ${position}`);
    const [offset, size] = [records.getUint32(at + 8), records.getUint32(at + 12)];
    yield { key, epoch, position, size, offset, piece: piece + i };
  }
}

function listFrame(id: number, samples: readonly PlacedHead[]): Buffer {
  const places = Buffer.allocUnsafe(samples.length * RECORD_BYTES);
  let at = 0;
  for (const { position, offset, size } of samples) {
    at = places.writeUInt32BE(Math.floor(position / HIGH), at);
    at = places.writeUInt32BE(position % HIGH, at);
    at = places.writeUInt32BE(offset, at);
    at = places.writeUInt32BE(size, at);
  }
  const keys = samples.map(({ key }) => key).join(SEPARATOR);
  const { epoch = 0, piece = 0 } = samples[0] ?? {};
  return encodeHead(SERVER_FRAMES.samples, id, { epoch, piece, keys, places });
}

function bytesIn(key: string): number {
  return RECORD_BYTES + CHARACTER_BYTES * (key.length + SEPARATOR.length);
}
