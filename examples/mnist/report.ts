import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import { NARROW, renderChart, WIDE } from './chart.js';
import type { Check } from './checks.js';
import type { Dataset } from './dataset.js';
import { megabytes } from './format.js';
import { commandOf, type Options } from './options.js';
import { EPOCHS, type Outcome } from './run.js';
import { SETUPS } from './setups.js';
import { STYLE } from './style.js';
import { caveatOf, figuresOf, takeawayOf } from './summary.js';
import { COLUMNS, rowsOf } from './table.js';

/** What goes into the report. */
export interface ReportContents {
  readonly outcomes: readonly Outcome[];
  readonly checks: readonly Check[];
  readonly dataset: Dataset;
  /** What the source is. */
  readonly source: string;
  readonly options: Options;
}

/** Writes the report, which needs nothing beside itself, and the chart alone next to it. */
export async function writeReport(file: string, contents: ReportContents): Promise<void> {
  await writeFile(chartFileOf(file), renderChart(contents.outcomes, WIDE));
  await writeFile(file, renderPage(contents));
}

export function chartFileOf(reportFile: string): string {
  return reportFile.replace(/\.html$/, '.svg');
}

/** The page as HTML. */
export function renderPage({ outcomes, checks, dataset, source, options }: ReportContents): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>MNIST through a tier hierarchy</title>
<style>${STYLE}</style>
<main>
<h1>MNIST through a tier hierarchy</h1>
<p class="takeaway">${takeawayOf(outcomes, dataset)}</p>
${banners(outcomes, checks)}
<p class="lead">${dataset.samples.toLocaleString('en')} digits in ${dataset.shards} TFRecord shards,
${megabytes(dataset.bytes)} MB; ${EPOCHS} epochs; the same training under ${outcomes.length} ways to store the data.
The tiles compare <em>tiered</em> with a <em>loop by hand</em>.</p>
${tiles(outcomes, dataset)}
${figure('broad', renderChart(outcomes, WIDE))}
${figure('narrow', renderChart(outcomes, NARROW))}
<h2>Figures</h2>
${table(outcomes)}
<h2>Checks</h2>
<ul class="checks">
${checks.map(({ promise, ok, seen }) => `<li class="${ok ? 'ok' : 'failed'}">${promise}${seen === undefined ? '' : `: ${seen}`}</li>`).join('\n')}
</ul>
<h2>What was run</h2>
<dl>
${SETUPS.map(({ name, about }) => `<dt>${name}</dt><dd>${about}</dd>`).join('\n')}
<dt>the source</dt><dd>${asText(source)}</dd>
<dt>the model</dt><dd>${options.model === 'dense' ? 'dense, 784-16-10, small, so that reading can be the limit' : 'LeNet-5; in WebAssembly computing is the limit'}; Adam; TF.js on its wasm backend</dd>
<dt>this machine</dt><dd>${os.availableParallelism()} cores, Node ${process.version}, ${process.platform} ${process.arch}</dd>
</dl>
<p>Seconds are those of reading and training; testing is left out. “Waiting” is for data: the model had nothing to do. In the chart it is hatched,
and drawn at the end of its epoch.
Seconds depend on the machine; operations, bytes and order do not.</p>
<h2>How to see it again</h2>
<pre>${asText(`npm ci && ${commandOf(options)}`)}</pre>
</main>
</html>
`;
}

/** What the user named, in HTML. */
function asText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** What the reader must know before the figures. */
function banners(outcomes: readonly Outcome[], checks: readonly Check[]): string {
  const caveat = caveatOf(outcomes);
  const failed = checks.filter(({ ok }) => !ok).length;
  const lines = [];
  if (failed > 0)
    lines.push(`<p class="banner failed">${failed} of ${checks.length} checks failed: see below.</p>`);
  if (caveat !== undefined) lines.push(`<p class="banner">${caveat}</p>`);
  return lines.join('\n');
}

function tiles(outcomes: readonly Outcome[], dataset: Dataset): string {
  const items = figuresOf(outcomes, dataset).map(
    ({ name, value, detail }) => `<li><b>${value}</b><span>${name}</span><small>${detail}</small></li>`,
  );
  return `<ul class="tiles">\n${items.join('\n')}\n</ul>`;
}

function figure(name: string, chart: string): string {
  const labelled = chart.replace('<svg ', '<svg role="img" aria-label="Seconds and megabytes by setup" ');
  return `<figure class="${name}">${labelled}</figure>`;
}

function table(outcomes: readonly Outcome[]): string {
  const head = COLUMNS.map((name) => `<th scope="col">${name}</th>`).join('');
  const bodies = outcomes.map((outcome) => {
    const rows = rowsOf(outcome);
    const name = `<th scope="rowgroup" rowspan="${rows.length}">${outcome.setup.name}</th>`;
    const lines = rows.map(
      (row, i) => `<tr>${i === 0 ? name : ''}${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`,
    );
    return `<tbody>${lines.join('')}</tbody>`;
  });
  return `<div class="wide" tabindex="0" role="region" aria-label="Figures"><table><thead><tr>${head}</tr></thead>${bodies.join('\n')}</table></div>`;
}
