import { Ranges } from './ranges.js';

/** Samples of a record: rows, as [first, end], or a member of a group. */
export type Unit = readonly [first: number, end: number] | string;

/** What is needed to decode the records of a file. */
export interface Header {
  /** Bytes of the file. */
  readonly size: number;
  /** The datasets of samples, relative to the group of their member where members are samples. */
  readonly datasets: readonly string[];
  /** The units of each record, by its first byte. */
  readonly records: ReadonlyMap<number, readonly Unit[]>;
  /** What the file says of itself. */
  readonly ranges: Ranges;
}

interface Json extends Pick<Header, 'size' | 'datasets'> {
  readonly records: [number, readonly Unit[]][];
  readonly ranges: [start: number, length: number][];
}

const PREFIX = 4;

/** The length of its description, the description as JSON, and the bytes of the ranges. */
export function encodeHeader({ size, datasets, records, ranges }: Header): Uint8Array {
  const parts = ranges.list;
  const about: Json = {
    size,
    datasets,
    records: [...records],
    ranges: parts.map(([start, bytes]) => [start, bytes.byteLength]),
  };
  const json = Buffer.from(JSON.stringify(about));
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32LE(json.byteLength);
  return new Uint8Array(Buffer.concat([prefix, json, ...parts.map(([, bytes]) => bytes)]));
}

/** @throws Error if it is none. */
export function decodeHeader(bytes: Uint8Array): Header {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = PREFIX + buffer.readUInt32LE(0);
  const { size, datasets, records, ranges } = JSON.parse(buffer.toString('utf8', PREFIX, at)) as Json;
  const all = new Ranges();
  for (const [start, length] of ranges) {
    all.add(start, buffer.subarray(at, at + length));
    at += length;
  }
  return { size, datasets, records: new Map(records), ranges: all };
}
