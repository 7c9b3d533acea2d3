import { formatBytes } from '@tiered/core';
import type { EpochFigures, LoaderFigures } from '@tiered/loader';
import { hitRatioOf } from '@tiered/prefetch';
import { html, Markup } from './markup.js';

/** What a page is about, in one sentence or two. */
export function takeawayOf({ epochs }: LoaderFigures): string {
  const last = epochs.at(-1);
  if (last === undefined) return 'No batch was given yet.';
  const { epoch, seconds, waitedSeconds, limit } = last;
  const waited = seconds === 0 ? 0 : waitedSeconds / seconds;
  const hits = hitsOf(last);
  const from = hits === undefined ? '' : `, and ${percent(hits)} of its bytes came from tiers`;
  const why = limit === undefined ? '' : ` ${LIMITS.get(limit.what) ?? `The limit: ${limit.what}.`}`;
  return `In epoch ${epoch} the training waited ${percent(waited)} of the time for batches${from}.${why}`;
}

/** Where the name of a limit alone would say little. */
const LIMITS: ReadonlyMap<string, string> = new Map([
  ['training', 'The training itself is the limit: faster storage would change nothing.'],
  ['batches', 'Making batches is the limit, and not the reading.'],
  ['unknown', 'Nobody can say yet what the limit is.'],
]);

/** The figures that matter, of the last epoch beside the first. */
export function tilesOf({ epochs, source, bytes }: LoaderFigures): Markup {
  const [first, last] = [epochs[0], epochs.at(-1)];
  if (first === undefined || last === undefined) return new Markup('');
  const hits = hitsOf(last);
  const tiles = [
    ...(hits === undefined
      ? []
      : [
          tile('hit ratio', percent(hits), `bytes from tiers, ${beside(first, percent(hitsOf(first) ?? 0))}`),
        ]),
    tile(
      'waiting',
      percent(waitedOf(last)),
      `of the time, for batches; ${beside(first, percent(waitedOf(first)))}`,
    ),
    tile('samples/s', rateOf(last), beside(first, rateOf(first))),
    ...(source === undefined
      ? []
      : [
          tile(
            'from the source',
            formatBytes(source.givenBytes),
            `since it was opened; the data has ${formatBytes(bytes)}`,
          ),
        ]),
  ];
  return html`<ul class="tiles">
    ${tiles}
  </ul>`;
}

function tile(name: string, value: string, detail: string): Markup {
  return html`<li><b>${value}</b><span>${name}</span><small>${detail}</small></li>`;
}

function beside({ epoch }: EpochFigures, value: string): string {
  return `epoch ${epoch}: ${value}`;
}

function hitsOf({ reading }: EpochFigures): number | undefined {
  return hitRatioOf(reading?.levels ?? []);
}

function waitedOf({ seconds, waitedSeconds }: EpochFigures): number {
  return seconds === 0 ? 0 : waitedSeconds / seconds;
}

function rateOf({ samples, seconds }: EpochFigures): string {
  return seconds === 0 ? 'unknown' : Math.round(samples / seconds).toLocaleString('en');
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
