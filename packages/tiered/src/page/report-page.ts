import { formatBytes, type OperationOptions } from '@tiered/core';
import type { EpochFigures, LoaderFigures } from '@tiered/loader';
import { limitsOf, reportOf } from '@tiered/loader/internal';
import type { CalibrationProfile } from '@tiered/simulator/calibration';
import { PAGE_STYLE } from '@tiered/simulator/report';
import { changesOf, type Changes } from './changes.js';
import { html, Markup } from './markup.js';
import { levelNames, picturesOf, secondsText } from './pictures.js';
import { takeawayOf, tilesOf } from './takeaway.js';

/** The look of all pages, and what only this one has. */
const STYLE = `${PAGE_STYLE}
.pictures { display: flex; flex-wrap: wrap; gap: 16px; margin: 20px 0 0; }
figure { margin: 0; padding: 12px 16px; width: 474px; max-width: 100%; }
figcaption, caption { font-weight: 600; text-align: left; }
caption { padding: 8px 9px 6px; }
.legend { list-style: none; margin: 4px 0 8px; padding: 0; font-size: 13px; }
.key { display: inline-block; width: 12px; height: 12px; margin-right: 6px; }
tbody th { font-weight: 400; min-width: 90px; }
.remarks { font-size: 14px; color: var(--faint); }
`;

/** Options of `reportPage`. The signal ends the simulation. */
export interface ReportPageOptions extends OperationOptions {
  /** Headline of the page. Default: `Report of a loader`. */
  readonly title?: string | undefined;
  /**
   * What `tiered calibrate` measured of the source and the tiers. With it, the page says what other tiers,
   * another source and a faster training would make of an epoch. Default: it says what the verdicts advise.
   */
  readonly profile?: CalibrationProfile | undefined;
}

/**
 * Makes a page of what a loader measured. The verdict comes first, with the hit ratio and other figures as
 * tiles. Then how long each epoch took and waited, where its bytes came from, how far the source is from the
 * least that is possible, what limited each epoch, and what would change it.
 *
 * The page is one HTML document with its pictures in it. It has no scripts, loads nothing, and follows the
 * colors of its reader. Names, titles and texts that come from outside are text in it, whatever they contain.
 * @param figures Of a loader or a thread's loader (`figures()`), or what became of them as JSON.
 * @returns The document, in UTF-8 when it is written. It takes milliseconds; with a profile, up to a second
 * for each million samples.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a profile of another number of tiers, or none at all. An
 * abort throws the signal's reason.
 */
export async function reportPage(
  figures: LoaderFigures,
  { title = 'Report of a loader', profile, signal }: ReportPageOptions = {},
): Promise<string> {
  signal?.throwIfAborted();
  const changes = profile && (await changesOf(figures, profile, { signal }));
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>${title}</title>
        <style>
          ${new Markup(STYLE)}
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p class="takeaway">${takeawayOf(figures)}</p>
          ${tilesOf(figures)}
          <div class="pictures">${picturesOf(figures)}</div>
          <h2>In words</h2>
          <pre>${reportOf(figures)}</pre>
          <h2>Figures</h2>
          ${epochTable(figures.epochs)}
          <h2>What would change it</h2>
          ${adviceOf(figures.epochs)}
          ${changes === undefined ? html`<p>With a profile of <code>tiered calibrate</code>, this page also simulates other tiers and sources.</p>` : changesTable(changes, figures)}
        </main>
      </body>
    </html> `;
  return page.text;
}

function table(caption: string, head: readonly string[], rows: readonly (readonly string[])[]): Markup {
  const headings = head.map((name) => html`<th scope="col">${name}</th>`);
  const lines = rows.map(([name = '', ...cells]) => {
    const others = cells.map((cell) => html`<td>${cell}</td>`);
    return html`<tr>
      <th scope="row">${name}</th>
      ${others}
    </tr>`;
  });
  return html`<div class="wide">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headings}
        </tr>
      </thead>
      <tbody>
        ${lines}
      </tbody>
    </table>
  </div>`;
}

function epochTable(epochs: readonly EpochFigures[]): Markup {
  if (epochs.length === 0) return html`<p>No batch was given yet.</p>`;
  const names = levelNames(epochs.find(({ reading }) => (reading?.levels.length ?? 0) > 0));
  const head = ['epoch', 'batches', 'samples', 'time', 'waited', 'samples/s', ...names, 'limit'];
  const rows = epochs.map(({ epoch, batches, samples, seconds, waitedSeconds, reading, limit }) => [
    String(epoch),
    batches.toLocaleString('en'),
    samples.toLocaleString('en'),
    secondsText(seconds),
    secondsText(waitedSeconds),
    seconds === 0 ? '' : Math.round(samples / seconds).toLocaleString('en'),
    ...names.map((_, level) => formatBytes(reading?.levels[level]?.bytes ?? 0)),
    limit?.what ?? '',
  ]);
  return table('What was measured of each epoch. The last may be under way.', head, rows);
}

/** The verdicts say what to do. */
function adviceOf(epochs: readonly EpochFigures[]): Markup {
  const limits = limitsOf(epochs);
  if (limits.length === 0) return html`<p>Nothing is known yet of what limits the epochs.</p>`;
  const items = limits.map(({ first, last, text }) => {
    const which = first === last ? `Epoch ${first}` : `Epochs ${first} to ${last}`;
    return html`<li><strong>${which}</strong>: ${text}</li>`;
  });
  return html`<ul>
    ${items}
  </ul>`;
}

function changesTable({ rows, assumptions }: Changes, { epochs, batchesPerEpoch }: LoaderFigures): Markup {
  const remarks = html`<ul class="remarks">
    ${assumptions.map((text) => html`<li>${text}</li>`)}
  </ul>`;
  if (rows.length === 0) return remarks;
  const measured = epochs.filter(({ batches }) => batches === batchesPerEpoch);
  const beside = measured.map(({ epoch, seconds }) => `epoch ${epoch} ${secondsText(seconds)}`).slice(-3);
  const head = ['simulated', 'first epoch', 'each later epoch', 'the source gives in both'];
  const lines = rows.map(({ change, firstSeconds, laterSeconds, sourceBytes }) => [
    change,
    secondsText(firstSeconds),
    secondsText(laterSeconds),
    formatBytes(sourceBytes),
  ]);
  return html`${table('What the simulator says, one change at a time.', head, lines)}
    <p>
      ${beside.length === 0 ? 'No whole epoch was measured to compare with.' : `Measured: ${beside.join(', ')}. Where that is far from what is simulated "as it is", the other rows are as far off.`}
    </p>
    <p>What is assumed:</p>
    ${remarks}`;
}
