import type { S3Client } from '../http/client.js';
import { wrongAnswer } from '../http/failure.js';
import { compareKeys } from '../http/keys.js';
import { fetchPage, type Page, type PageRequest } from './listing-page.js';

/**
 * Most empty pages in a row. Servers send them where they skip deleted or hidden objects, mostly 1000 per
 * page. A server that sends this many makes no progress.
 */
const MOST_EMPTY_PAGES = 10_000;

/**
 * Yields the pages of a listing that hold objects, from a request to the last page. Empty pages are skipped
 * while the server says that they are not the last.
 * @param isSorted Whether the server is known to list keys in the order of their bytes.
 * @throws Failure `ListingStuck` for a server that makes no progress: a repeated token, pages that begin
 * where an earlier one did, or endless empty pages. Ending there as if all were listed would lose the objects
 * that follow.
 */
export async function* walkPages(
  client: S3Client,
  from: PageRequest,
  isSorted: boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<Page, void, undefined> {
  const { prefix } = from;
  const tokens = new TokenTrail(from.token);
  let request = from;
  let lastFirst: string | undefined;
  for (let empty = 0; ;) {
    const page = await fetchPage(client, request, signal);
    const first = page.objects[0]?.key;
    empty = first === undefined ? empty + 1 : 0;
    const order = first === undefined || lastFirst === undefined ? 1 : compareKeys(first, lastFirst);
    if (order === 0 || (order < 0 && isSorted)) throw stuck('the server repeats a page');
    lastFirst = first ?? lastFirst;
    if (page.objects.length > 0) yield page;
    const { next } = page;
    if (next === undefined) return;
    if (next === request.token || !tokens.isNew(next)) throw stuck('the server repeats a continuation token');
    if (empty >= MOST_EMPTY_PAGES) throw stuck(`the server sent ${MOST_EMPTY_PAGES} pages without an object`);
    request = { prefix, token: next };
  }
}

/**
 * Notices repeated tokens in constant memory (Brent's algorithm). It compares each token with a kept one, and
 * replaces that by a newer one after twice as many. A cycle of n tokens is noticed within 3 n of them.
 */
class TokenTrail {
  #kept: string | undefined;
  #left = 1;
  #stride = 1;

  constructor(first: string | undefined) {
    this.#kept = first;
  }

  isNew(token: string): boolean {
    if (token === this.#kept) return false;
    this.#left -= 1;
    if (this.#left === 0) {
      this.#kept = token;
      this.#stride *= 2;
      this.#left = this.#stride;
    }
    return true;
  }
}

function stuck(what: string) {
  const advice = `the listing makes no progress: ${what}; check the endpoint`;
  return wrongAnswer(200, 'ListingStuck', advice, false);
}
