import { TableBuilder, type RecordTable } from '../contract/format.js';

/** Bytes that say how many samples there are, and where the first begins. */
export const START = 8;
/** More than these bytes do not tell of columns: those of 10,000 columns are fewer. */
const MOST_JSON = 1024 * 1024;

/** Where the parts before the samples end. */
interface Ends {
  /** The end of the offsets, where the JSON of the columns begins. */
  readonly table: number;
  /** The end of that, where samples begin. */
  readonly header: number;
}

/** Whether bytes are certainly the start of a shard that is not compressed. */
export function isShardStart(bytes: Uint8Array): boolean {
  return typeof tableEnd(bytes, Infinity) !== 'string';
}

/** What the start of a shard of `size` bytes says, or what is wrong with it. */
export function tableEnd(bytes: Uint8Array, size: number): Ends | string {
  if (bytes.byteLength < START) return `it has ${bytes.byteLength} bytes, and no shard has so few`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, START);
  const table = START + 4 * view.getUint32(0, true);
  const header = view.getUint32(4, true);
  if (table > size || header > size || header < table || header - table > MOST_JSON) {
    return `it is not an MDS shard: ${view.getUint32(0, true)} samples from byte ${header} on, in ${size} bytes`;
  }
  return { table, header };
}

/**
 * The records that the offsets at the start of a shard name. Those that cannot be are left out, and told of
 * where they are named, once for all that follow one another.
 */
export function placesIn(
  start: Uint8Array,
  size: number,
  tell: (offset: number, problem: string) => void,
): RecordTable {
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const samples = start.byteLength / 4 - 2;
  const table = new TableBuilder();
  let end = view.getUint32(4, true);
  let firstBad: number | undefined;
  const tellOfBad = (next: number) => {
    if (firstBad === undefined) return;
    const which =
      next - firstBad === 1 ? `sample ${firstBad} lies` : `samples ${firstBad} to ${next - 1} lie`;
    tell(4 * (firstBad + 1), `${which} outside of the ${size} bytes, or in another one`);
    firstBad = undefined;
  };
  for (let i = 0; i < samples; i++) {
    const from = view.getUint32(4 * (i + 1), true);
    const to = view.getUint32(4 * (i + 2), true);
    if (from < end || to < from || to > size) {
      firstBad ??= i;
      continue;
    }
    tellOfBad(i);
    table.add(from, to - from);
    end = to;
  }
  tellOfBad(samples);
  const last = view.getUint32(4 * (samples + 1), true);
  if (last < size) tell(last, `${size - last} bytes follow behind its last sample`);
  return table.build();
}
