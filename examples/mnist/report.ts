import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import { renderChart } from './chart.js';
import type { Check } from './checks.js';
import type { Dataset } from './dataset.js';
import { megabytes } from './format.js';
import { commandOf, type Options } from './options.js';
import { EPOCHS, type Outcome } from './run.js';
import { SETUPS } from './setups.js';
import { COLUMNS, rowsOf } from './table.js';

/** What goes into the report. */
export interface ReportContents {
  readonly outcomes: readonly Outcome[];
  readonly checks: readonly Check[];
  readonly summary: readonly string[];
  readonly dataset: Dataset;
  /** What the source is. */
  readonly source: string;
  readonly options: Options;
}

/** Writes the report, which needs nothing beside itself, and the chart alone next to it. */
export async function writeReport(file: string, contents: ReportContents): Promise<void> {
  const chart = renderChart(contents.outcomes);
  await writeFile(chartFileOf(file), chart);
  await writeFile(file, page(contents, chart));
}

export function chartFileOf(reportFile: string): string {
  return reportFile.replace(/\.html$/, '.svg');
}

function page(
  { outcomes, checks, summary, dataset, source, options }: ReportContents,
  chart: string,
): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>MNIST through a tier hierarchy</title>
<style>${STYLE}</style>
<main>
<h1>MNIST through a tier hierarchy</h1>
<p class="lead">${dataset.samples.toLocaleString('en')} digits in ${dataset.shards} TFRecord shards,
${megabytes(dataset.bytes)} MB; ${EPOCHS} epochs; the same training under ${outcomes.length} ways to store the data.</p>
${list('What was seen', summary)}
<figure>${chart.replace('<svg ', '<svg role="img" aria-label="Seconds and megabytes by setup" ')}</figure>
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
<dt>the model</dt><dd>${options.model === 'dense' ? 'dense, 784-16-10, so small that reading is the limit' : 'LeNet-5; in WebAssembly computing is the limit'}; Adam; TF.js on its wasm backend</dd>
<dt>this machine</dt><dd>${os.availableParallelism()} cores, Node ${process.version}, ${process.platform} ${process.arch}</dd>
</dl>
<p>Seconds are those of reading and training; testing is left out. “Stalled” is the time the model waited for data.
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

function list(title: string, items: readonly string[]): string {
  return `<h2>${title}</h2>\n<ul>\n${items.map((item) => `<li>${item}</li>`).join('\n')}\n</ul>`;
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
  return `<div class="wide"><table><thead><tr>${head}</tr></thead>${bodies.join('\n')}</table></div>`;
}

const STYLE = `
:root { color-scheme: light; }
body { margin: 0; background: #f5f7fa; color: #1f2933; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 8px; }
h2 { font-size: 18px; margin: 36px 0 10px; }
.lead { color: #52606d; margin: 0; }
ul { padding-left: 20px; margin: 0; } li { margin: 4px 0; }
figure { margin: 28px 0 0; background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; overflow: hidden; }
figure svg { display: block; width: 100%; height: auto; }
.wide { overflow-x: auto; background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; vertical-align: top; }
thead th { color: #52606d; font-weight: 600; border-bottom: 1px solid #cbd2d9; }
tbody + tbody { border-top: 1px solid #e4e7eb; }
tbody tr:last-child td { color: #52606d; border-top: 1px dotted #cbd2d9; }
.checks { list-style: none; padding: 0; }
.checks li::before { display: inline-block; width: 24px; font-weight: 700; }
.ok::before { content: "✓"; color: #2f9e77; } .failed::before { content: "✗"; color: #c0392b; } .failed { color: #c0392b; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 0; } dt { font-weight: 600; } dd { margin: 0; }
pre { background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; padding: 12px 16px; overflow-x: auto; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 8px; } }
`;
