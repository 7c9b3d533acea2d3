import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { Walk } from './thrift.js';

/** What a page says of its values, and what its column says. */
export interface PageValues {
  readonly encoding: string;
  readonly type: string;
  readonly typeLength: number;
  /** Values, and nulls among them if `isExact` is false. */
  readonly count: number;
  readonly isExact: boolean;
  /** Bytes that the values may have. */
  readonly maxBytes: number;
  /** Whether levels go before the values (pages of version 1), and the highest of them. */
  readonly hasLevels: boolean;
  readonly maxRepetition: number;
  readonly maxDefinition: number;
}

/** Bits of a level up to `most`. */
export function bitsOf(most: number): number {
  return 32 - Math.clz32(most);
}

/**
 * Looks at the runs of levels, or of places in a dictionary, before hyparquet reads them: it writes as many
 * values as a run claims, however many there may be.
 * @throws Error for a run that claims more than `count` values.
 */
export function checkRuns(bytes: Uint8Array, start: number, width: number, count: number): void {
  const walk = new Walk(bytes, start);
  for (let seen = 0; seen < count && walk.at < bytes.byteLength;) {
    const header = walk.varint();
    const isPacked = header % 2 === 1;
    const run = isPacked ? 8 * ((header - 1) / 2) : header / 2;
    if (run > count + (isPacked ? 512 : 0)) throw new Error(`a run claims ${run} of ${count} values`);
    // hyparquet reads a byte even of packed values that have none.
    walk.at += isPacked ? Math.max(1, (run / 8) * width) : (width + 7) >> 3;
    seen += run;
  }
}

/** Looks at the decompressed bytes of a data page, for all that would have hyparquet loop or allocate. */
export function checkValues(bytes: Uint8Array, page: PageValues): void {
  const { encoding, type, hasLevels, count } = page;
  let at = 0;
  let present = count;
  let isExact = page.isExact;
  if (hasLevels && page.maxRepetition > 0) at = endOfLevels(bytes, at, bitsOf(page.maxRepetition), count);
  if (hasLevels && page.maxDefinition > 0) {
    const width = bitsOf(page.maxDefinition);
    const end = endOfLevels(bytes, at, width, count);
    if (encoding.startsWith('DELTA') || encoding === 'BYTE_STREAM_SPLIT') {
      present = presentIn(bytes, at, page, width);
      isExact = true;
    }
    at = end;
  }
  if (encoding.endsWith('_DICTIONARY') || encoding === 'RLE') checkIndexes(bytes, at, page);
  else if (encoding === 'BYTE_STREAM_SPLIT') {
    const width = type === 'FIXED_LEN_BYTE_ARRAY' ? page.typeLength : 1;
    if (isExact && present * width > bytes.byteLength) throw new Error('values are missing');
  } else if (encoding === 'DELTA_BYTE_ARRAY') checkDeltaBytes(bytes, at, present, page.maxBytes);
  else if (encoding.startsWith('DELTA')) checkDelta(bytes, at);
}

/** Levels of pages of version 1 have their length before them. */
function endOfLevels(bytes: Uint8Array, at: number, width: number, count: number): number {
  checkRuns(bytes, at + 4, width, count);
  return at + 4 + lengthAt(bytes, at);
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
}

/** How many of the values are not null. */
function presentIn(bytes: Uint8Array, at: number, page: PageValues, width: number): number {
  const levels = new Uint8Array(page.count);
  readRleBitPackedHybrid(readerAt(bytes, at), width, levels);
  return levels.reduce((sum, level) => sum + (level === page.maxDefinition ? 1 : 0), 0);
}

function checkIndexes(bytes: Uint8Array, at: number, { encoding, type, hasLevels, count }: PageValues): void {
  const isBits = hasLevels ? type === 'BOOLEAN' : encoding === 'RLE';
  const width = isBits ? 1 : (bytes[at] ?? 0);
  if (width > 32) throw new Error(`places in a dictionary have ${width} bits`);
  checkRuns(bytes, at + (isBits ? 4 : 1), width, count);
}

/** Blocks of other sizes have hyparquet go backwards. */
function checkDelta(bytes: Uint8Array, at: number): void {
  const walk = new Walk(bytes, at);
  const [block, parts] = [walk.varint(), walk.varint()];
  if (!(block >= 1 && block <= 2 ** 20 && parts >= 1 && (block / parts) % 32 === 0)) {
    throw new Error(`invalid block of ${block} values in ${parts} parts`);
  }
}

/** Each value has a prefix of the one before it, so that few bytes may become very many. */
function checkDeltaBytes(bytes: Uint8Array, at: number, count: number, maxBytes: number): void {
  const reader = readerAt(bytes, at);
  const [prefixes, suffixes] = [new Int32Array(count), new Int32Array(count)];
  for (const lengths of [prefixes, suffixes]) {
    checkDelta(bytes, reader.offset);
    deltaBinaryUnpack(reader, count, lengths);
  }
  let [before, all] = [0, 0];
  for (const [i, prefix] of prefixes.entries()) {
    const suffix = suffixes[i] ?? 0;
    if (prefix < 0 || suffix < 0 || prefix > before) throw new Error('invalid lengths of values');
    before = prefix + suffix;
    all += before;
  }
  if (all > maxBytes) throw new Error(`values have ${all} bytes, more than maxBytes allows`);
}

function readerAt(bytes: Uint8Array, offset: number) {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset };
}
