import type { Checksum } from '@tiered/core/internal';

/** What identifies a copy: an object of a dataset, at a version. */
export interface CopyIdentity {
  /** Whose key it is: several sources may share a tier. */
  readonly dataset: string;
  readonly key: string;
  readonly version: string;
}

/** What is known of a copy that is on the tier. */
export interface CopyContent {
  /** Bytes of the object; the copy may hold fewer, its first `bytes`. */
  readonly size: number;
  /** Bytes of the copy. */
  readonly bytes: number;
  /** Bytes of a chunk; the last one may be shorter. */
  readonly chunkBytes: number;
  /** XXH64 of each chunk. */
  readonly sums: readonly bigint[];
}

/**
 * A line of a tier's log. Every process that uses the tier reads all lines in the same order and draws the same
 * conclusions from them, see `TierLedger`.
 */
export type LogRecord =
  /** A process begins to use the tier, and how much it lets the tier hold. */
  | { readonly op: 'join'; readonly member: string; readonly quota: number }
  /** It wants so many bytes for a copy under this name; it has them if the ledger says so. */
  | ({
      readonly op: 'claim';
      readonly member: string;
      readonly name: string;
      readonly bytes: number;
    } & CopyIdentity)
  /** What was claimed is on the tier. */
  | ({ readonly op: 'placed'; readonly name: string } & CopyContent)
  /** A copy that was there before the log was written anew. */
  | ({ readonly op: 'kept'; readonly name: string } & CopyIdentity & CopyContent)
  /** The name holds nothing any more, and its bytes are free. */
  | { readonly op: 'free'; readonly name: string }
  /** The process lets the tier hold so much from now on. */
  | { readonly op: 'quota'; readonly member: string; readonly quota: number }
  /** The process has gone, as it says itself or as another one found. */
  | { readonly op: 'leave'; readonly member: string }
  /** A process died, so that there may be copies on the tier of which the log does not know. */
  | { readonly op: 'doubt' }
  /** Somebody looked: all that is on the tier is in the log. */
  | { readonly op: 'known' }
  /** The process is about to write the log anew, if it is the only one. */
  | { readonly op: 'seal'; readonly member: string };

const SUM_DIGITS = 16;

/**
 * Records as lines of text: eight digits of checksum, a space, JSON. Text, so that a tier can be looked into; the
 * checksum, because after a power cut a line may be anything.
 */
export class LogCodec {
  readonly #checksum: Checksum;

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  encode(record: LogRecord): string {
    const json = JSON.stringify(record, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString(16).padStart(SUM_DIGITS, '0') : value,
    );
    return `${this.#sumOf(json)} ${json}`;
  }

  /** The record of a line; undefined if the line is not as it was written. */
  decode(line: string): LogRecord | undefined {
    const json = line.slice(9);
    if (line[8] !== ' ' || line.slice(0, 8) !== this.#sumOf(json)) return undefined;
    // What has its checksum was written here, and has the form it was written in.
    const record = JSON.parse(json) as LogRecord;
    if (record.op !== 'placed' && record.op !== 'kept') return record;
    return { ...record, sums: (record.sums as unknown as string[]).map((sum) => BigInt(`0x${sum}`)) };
  }

  #sumOf(json: string): string {
    return this.#checksum.text(json).toString(16).padStart(8, '0');
  }
}
