import { isPacked, packedTag, type Checksum } from '@tiered/core/internal';
import type { IndexClient } from './index-client.js';
import { SEGMENT } from './thread/schema.js';
import { copyOf } from './copy-record.js';
import type { CopyRef, CopyRow } from '../tier/copy-rows.js';
import type { Copy } from '../tier/tier-store.js';

/** Copies per page. Bounds how long one page blocks the event loop. */
const PAGE = 1000;

/** The position after the rows of segments, which are not copies. */
export const BEFORE_ALL: CopyRef = { key: '', dataset: SEGMENT.dataset + 1, tag: 0 };

/** Dependencies of `IndexedCopies`. */
export interface IndexedCopiesParts {
  readonly client: IndexClient;
  readonly checksum: Checksum;
  /** The dataset whose copies are looked up, and its number in the index. */
  readonly dataset: string;
  readonly datasetNumber: number;
}

/** Looks up the copies of a dataset in the index of a tier. */
export class IndexedCopies {
  readonly #parts: IndexedCopiesParts;

  constructor(parts: IndexedCopiesParts) {
    this.#parts = parts;
  }

  /** See `TierStore`. */
  async find(key: string): Promise<readonly Copy[]> {
    const { client, datasetNumber } = this.#parts;
    const rows = await client.call('find', { dataset: datasetNumber, key });
    return rows.map((row) => this.copyOf(row));
  }

  /** See `TierStore`. */
  async *pages(others: boolean): AsyncGenerator<readonly Copy[], void, undefined> {
    const { client, datasetNumber: dataset } = this.#parts;
    for (let after = BEFORE_ALL; ;) {
      const rows = await client.call('page', { dataset, others, after, limit: PAGE });
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => this.copyOf(row));
      after = last;
    }
  }

  /** See `TierStore`. */
  async together(copy: Copy): Promise<readonly Copy[]> {
    const { tag } = copy;
    if (tag === undefined || !isPacked(tag)) return [copy];
    return this.#inSegmentOf(tag);
  }

  /** See `TierStore`. */
  async sparse(): Promise<readonly Copy[]> {
    const { client, datasetNumber } = this.#parts;
    for (const segment of await client.call('sparse', undefined)) {
      // All copies of a segment belong to one dataset. There are none if they were already moved and others
      // have not let go of them yet.
      const copies = await this.#inSegmentOf(packedTag(segment, 0));
      if (copies[0]?.row?.dataset === datasetNumber) return copies;
    }
    return [];
  }

  async #inSegmentOf(tag: number): Promise<readonly Copy[]> {
    const rows = await this.#parts.client.call('together', { tag });
    return rows.map((row) => this.copyOf(row));
  }

  /** The copy that a row describes. */
  copyOf(row: CopyRow): Copy {
    return copyOf(row, this.#parts.dataset, this.#parts.checksum);
  }
}
