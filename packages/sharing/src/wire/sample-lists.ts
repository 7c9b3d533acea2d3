import { encodeHead, malformed, SERVER_FRAMES, type SampleHead, type SampleList } from './protocol.js';

/** The head of a sample in memory shared with the client. */
export type PlacedHead = SampleHead & { readonly offset: number; readonly piece: number };

/** A record of a sample: its position in eight bytes, its offset and its size in four each. */
const RECORD_BYTES = 16;

/** Separates keys. No storage accepts a key that contains it. */
const SEPARATOR = '\0';

/** The most bytes of a body, by the estimate below. It leaves room for the other fields. */
const LIST_BYTES = 60 * 1024;

/** The most bytes in UTF-8 of a JavaScript code unit. */
const CHARACTER_BYTES = 3;

const HIGH = 2 ** 32;

/** Whether a sample may be listed with others. */
export function isListable({ key }: Pick<SampleHead, 'key'>): boolean {
  return !key.includes(SEPARATOR) && bytesIn(key) <= LIST_BYTES;
}

/**
 * Makes the frames of listable samples of one epoch whose pieces have consecutive numbers, in as few frames
 * as possible. A frame for each sample would cost the server about 1 us more per sample, and the client 2 us.
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
 * Yields the samples of a list.
 * @throws TieredError `TIERED_DATA_CORRUPT` if the list is malformed.
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
