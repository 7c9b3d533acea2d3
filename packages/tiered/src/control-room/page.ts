import { html, type Markup } from '../page/markup.js';
import { flagOf } from './setting.js';

/** What may be set, with an example of each. */
const FORMS = [
  {
    kind: 'source',
    title: 'What a source gives to all jobs together',
    fields: { bytesPerSecond: '150MB', operationsPerSecond: '5000' },
  },
  {
    kind: 'job',
    title: 'How a job is treated',
    fields: { weight: '2', priority: '0', atLeast: '20MB', atMost: '50MB' },
  },
  { kind: 'node', title: 'What the jobs of a machine have', fields: { memory: '8GiB', producers: '32' } },
] as const;

/**
 * The page of the control room. Everything that comes from records is put into it by its script, as text. Who
 * has no token sees nothing but its headline.
 */
export function roomPage(allowSet: boolean): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Jobs that share sources</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/uplot.css" />
        <link rel="stylesheet" href="/room.css" />
        <script src="/uplot.js"></script>
        <script type="module" src="/room.js"></script>
      </head>
      <body>
        <main>
          <h1>Jobs that share sources</h1>
          <p class="takeaway" id="state" role="status">Nothing was heard yet.</p>
          <div id="sources"></div>
          <div id="inside" hidden>
            <h2>What operators have set</h2>
            <pre id="policy"></pre>
            ${allowSet ? formsOf() : html`<p class="lead">This page only shows. Start it with --allow-set to change things here.</p>`}
          </div>
        </main>
      </body>
    </html> `;
  return page.text;
}

function formsOf(): Markup {
  const forms = FORMS.map(({ kind, title, fields }) => {
    const inputs = Object.entries(fields).map(
      ([name, example]) =>
        html`<label
          >${flagOf(name)}<input name="${name}" placeholder="${example}" autocomplete="off"
        /></label>`,
    );
    return html`<form data-kind="${kind}">
      <strong>${title}</strong>
      <label>${kind}<input name="${kind}" list="${kind}-names" required autocomplete="off" /></label>
      <datalist id="${kind}-names"></datalist>
      ${inputs}
      <button name="what" value="set">Set</button>
      <button name="what" value="clear">Clear</button>
    </form>`;
  });
  return html`<h2>Set</h2>
    ${forms}
    <p><output id="done"></output></p>`;
}
