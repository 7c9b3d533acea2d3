import { formatBytes } from '@tiered/core';
import type { EpochFigures, LoaderFigures } from '@tiered/loader';
import { COLORS, renderBars, type BarPart } from '@tiered/simulator/report';
import { html, Markup } from './markup.js';

/** Fits into a window of 500 pixels. */
const WIDTH = 440;
const LABELS = 185;

const { source: SOURCE, waiting: WAITING, computing: OWN, tiers: TIERS } = COLORS;

/** The pictures for which something was measured. */
export function picturesOf({ epochs, source }: LoaderFigures): Markup[] {
  if (epochs.length === 0) return [];
  const read = epochs.filter(({ reading }) => (reading?.levels.length ?? 0) > 0);
  return [
    timesOf(epochs),
    ...(read.length === 0 ? [] : [placesOf(read)]),
    ...(source === undefined ? [] : [sourceOf(source)]),
  ];
}

function timesOf(epochs: readonly EpochFigures[]): Markup {
  return picture(
    'Time of each epoch',
    'seconds',
    epochs.map(({ epoch, seconds }) => `epoch ${epoch}: ${secondsText(seconds)}`),
    [
      {
        name: 'waiting for batches',
        color: WAITING,
        values: epochs.map(({ waitedSeconds }) => waitedSeconds),
      },
      {
        name: "the training's own",
        color: OWN,
        values: epochs.map(({ seconds, waitedSeconds }) => Math.max(0, seconds - waitedSeconds)),
      },
    ],
  );
}

function placesOf(epochs: readonly EpochFigures[]): Markup {
  const levelsOf = ({ reading }: EpochFigures) => reading?.levels ?? [];
  const bytesOf = (epoch: EpochFigures) => levelsOf(epoch).reduce((sum, { bytes }) => sum + bytes, 0);
  const names = levelNames(epochs[0]);
  const unit = unitOf(Math.max(...epochs.map(bytesOf)));
  const parts = names.map((name, level) => ({
    name,
    color: level === names.length - 1 ? SOURCE : (TIERS[level % TIERS.length] ?? OWN),
    values: epochs.map((epoch) => (levelsOf(epoch)[level]?.bytes ?? 0) / unit.bytes),
  }));
  const labels = epochs.map((epoch) => `epoch ${epoch.epoch}: ${formatBytes(bytesOf(epoch))}`);
  return picture('Where bytes came from', unit.name, labels, parts);
}

function sourceOf({ givenBytes, leastBytes }: NonNullable<LoaderFigures['source']>): Markup {
  const unit = unitOf(Math.max(givenBytes, leastBytes));
  return picture(
    'What the source gave, beside the least from empty tiers',
    unit.name,
    [`it gave ${formatBytes(givenBytes)}`, `from empty tiers: ${formatBytes(leastBytes)}`],
    [
      { name: 'given', color: SOURCE, values: [givenBytes / unit.bytes, 0] },
      {
        name: 'the least that whole epochs need from empty tiers',
        color: OWN,
        values: [0, leastBytes / unit.bytes],
      },
    ],
  );
}

/** The levels that an epoch read from, by their numbers: two tiers may have drivers of one name. */
export function levelNames(epoch: EpochFigures | undefined): string[] {
  const levels = epoch?.reading?.levels ?? [];
  return levels.map(({ driver }, level) => {
    if (level === levels.length - 1) return `source: ${driver}`;
    return driver === 'peers' ? driver : `tier ${level}: ${driver}`;
  });
}

/** The legend is text of the page: it wraps, and names of any length have room. */
function picture(caption: string, unit: string, labels: string[], parts: readonly BarPart[]): Markup {
  const svg = new Markup(renderBars({ labels, parts, unit, width: WIDTH, labelWidth: LABELS }));
  const legend = parts.map(
    ({ name, color }) => html`<li><span class="key" style="background:${color}"></span>${name}</li>`,
  );
  return html`<figure>
    <figcaption>${caption}</figcaption>
    <ul class="legend">
      ${legend}
    </ul>
    <div role="img" aria-label="${caption}: ${labels.join(', ')}">${svg}</div>
  </figure>`;
}

/** Seconds with as many digits as say something. */
export function secondsText(seconds: number): string {
  return seconds < 100
    ? `${Number(seconds.toPrecision(2))} s`
    : `${Math.round(seconds).toLocaleString('en')} s`;
}

function unitOf(bytes: number): { readonly name: string; readonly bytes: number } {
  const names = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = bytes < 1 ? 0 : Math.min(names.length - 1, Math.floor(Math.log2(bytes) / 10));
  return { name: names[power] ?? 'bytes', bytes: 1024 ** power };
}
