import type { IndexClient } from '../index-client.js';
import type { CopyRef, CopyRow } from './index-messages.js';

/** Copies a page; bounds how long one page keeps the event loop. */
const PAGE = 1000;

const BEFORE_ALL: CopyRef = { key: '', dataset: 0, tag: -1 };

/** Every copy of a dataset, or of all others, that is placed, in the order of their keys. */
export async function* rowPages(
  index: IndexClient,
  dataset: number,
  others: boolean,
): AsyncGenerator<readonly CopyRow[], void, undefined> {
  for (let after = BEFORE_ALL; ;) {
    const rows = await index.call('page', { dataset, others, after, limit: PAGE });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    after = last;
  }
}
