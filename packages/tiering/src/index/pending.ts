import type { ClaimRow, CopyRef, MovedRow, PackedRow, PlacedRow } from '../tier/copy-rows.js';
import { PAGE_BYTES } from './thread/schema.js';

/** A change of an index. */
export type Change =
  | { readonly kind: 'claims'; readonly row: ClaimRow }
  | { readonly kind: 'placed'; readonly row: PlacedRow }
  | { readonly kind: 'packed'; readonly row: PackedRow }
  | { readonly kind: 'moved'; readonly row: MovedRow }
  | { readonly kind: 'sealed' | 'leaving' | 'gone'; readonly row: CopyRef };

/** A change, and the promise of the caller that waits for it. */
export type Entry = Change & {
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/** The changes of the next transaction. */
export class Pending {
  /**
   * Claims go last. Writers wait for the record of what they wrote, and have a turn until then: behind a
   * thousand claims they would write nothing. A copy is claimed before anything else is said of it, so its
   * other changes come later.
   */
  claims: Extract<Entry, { readonly kind: 'claims' }>[] = [];
  /** The other changes in the order of the calls, so that no change of a copy comes before an earlier one. */
  others: Entry[] = [];
  quota: number | undefined;
  seen: number | undefined;
  isDue = false;
  /** Whether somebody waits for it. */
  isUrgent = false;
  /** Pages that it may change. */
  pages = 0;
  /** Called when the transaction has ended, whatever its outcome. */
  readonly told: (() => void)[] = [];

  get entries(): readonly Entry[] {
    return [...this.others, ...this.claims];
  }

  add(entry: Entry): void {
    if (entry.kind === 'claims') this.claims.push(entry);
    else this.others.push(entry);
    this.pages += pagesOf(entry);
  }

  /** Moves the entries that are too many for this transaction to another one. */
  split(mostPages: number): Pending {
    const rest = new Pending();
    let [count, pages] = [0, 0];
    for (const entry of this.entries) {
      const ofEntry = pagesOf(entry);
      if (pages + ofEntry > mostPages && count > 0) break;
      pages += ofEntry;
      count += 1;
    }
    const others = this.others.length;
    rest.others = this.others.splice(count);
    rest.claims = this.claims.splice(Math.max(0, count - others));
    rest.isDue = rest.others.length + rest.claims.length > 0;
    rest.isUrgent = rest.isDue && this.isUrgent;
    rest.pages = this.pages - pages;
    this.pages = pages;
    return rest;
  }
}

/**
 * Pages that a change may change: those of the copy's row in the table and in the index of unfinished rows,
 * which rows seldom share where keys are read in a random order; and those that splitting them takes from
 * time to time. Checksums of large copies have pages of their own.
 */
const PAGES_A_ROW = 4;
/** A copy in a segment changes only the table, and comes with others in the order of their keys. */
const PAGES_A_PACKED_ROW = 2;
/**
 * Characters of a key that count as one more page. Long keys fill pages sooner, so that these split more
 * often and lie deeper.
 */
const KEY_CHARS_A_PAGE = 128;

/** A file that comes or goes may change the page of its directory. */
const OF_FILES: readonly Change['kind'][] = ['claims', 'gone'];

function pagesOf({ kind, row }: Entry): number {
  const hasSums = kind === 'placed' || kind === 'packed' || kind === 'moved';
  const sumsBytes = hasSums ? row.sums.byteLength : 0;
  const pages = kind === 'packed' ? PAGES_A_PACKED_ROW : PAGES_A_ROW;
  const ofDirectory = OF_FILES.includes(kind) && row.key.includes('/') ? 1 : 0;
  return (
    pages + ofDirectory + Math.floor(row.key.length / KEY_CHARS_A_PAGE) + Math.floor(sumsBytes / PAGE_BYTES)
  );
}
