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
   * Claims go last. Writers wait until their files are recorded, and hold a turn until then: behind a
   * thousand claims they would write nothing. The claim of a copy is added before its other changes, which
   * come later.
   */
  claims: Extract<Entry, { readonly kind: 'claims' }>[] = [];
  /** The other changes in call order, so that changes of a copy stay in order. */
  others: Entry[] = [];
  quota: number | undefined;
  seen: number | undefined;
  isDue = false;
  /** Whether a caller waits for the transaction. */
  isUrgent = false;
  /** Pages that the transaction may change. */
  pages = 0;
  /** Called once the transaction has ended, with any outcome. */
  readonly told: (() => void)[] = [];

  get entries(): readonly Entry[] {
    return [...this.others, ...this.claims];
  }

  add(entry: Entry): void {
    if (entry.kind === 'claims') this.claims.push(entry);
    else this.others.push(entry);
    this.pages += pagesOf(entry);
  }

  /** Moves the entries that exceed this transaction to another one. */
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
 * Pages that a change may touch: those of the copy's row in the table and in the index of unfinished rows,
 * which rows seldom share if keys are read in random order; and those of occasional page splits. Checksums of
 * large copies have pages of their own.
 */
const PAGES_A_ROW = 4;
/** A copy in a segment changes only the table, and comes with others in key order. */
const PAGES_A_PACKED_ROW = 2;
/**
 * Characters of a key that count as one more page. Long keys fill pages sooner, so pages split more often and
 * lie deeper.
 */
const KEY_CHARS_A_PAGE = 128;

/** Adding or removing a file may change the page of its directory. */
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
