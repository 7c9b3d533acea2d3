/**
 * The control room in a browser. What comes from records is text here, and never markup: elements are made,
 * and their texts set.
 */
import { drawSource, forget } from './charts.js';

const MIB = 2 ** 20;
/** As many looks as the server keeps. */
const MOST_FRAMES = 300;

const token = location.hash.slice(1);
const byId = (id) => document.getElementById(id);

/** @type {object[]} The oldest first. */
let frames = [];
/** By the name of the source. */
const shown = new Map();

function say(text, isBad = false) {
  const state = byId('state');
  state.textContent = text;
  state.classList.toggle('lost', isBad);
}

function rateText(bytes, none) {
  return bytes === null ? none : `${(bytes / MIB).toFixed(1)} MiB/s`;
}

function countOf(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function percent(part) {
  return part === null ? '-' : `${Math.round(100 * part)} %`;
}

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** Requests of a second. */
function requests(number) {
  return `${Math.round(number).toLocaleString('en')}/s`;
}

/** A guarantee or a limit. A guarantee of nothing is none. */
function limitText({ bytes, operations }) {
  const parts = [
    ...(bytes === null || bytes === 0 ? [] : [rateText(bytes)]),
    ...(operations === null || operations === 0 ? [] : [requests(operations)]),
  ];
  return parts.join(', ') || '-';
}

const HEAD = [
  ...[
    'job',
    'weight',
    'priority',
    'at least',
    'at most',
    'wants',
    'gets',
    'uses',
    'requests',
    'waits',
    'stall',
  ],
  'stages',
];

function rowOf(job) {
  const cells = [
    job.weight,
    job.priority,
    limitText(job.atLeast),
    limitText(job.atMost),
    rateText(job.wanted.bytes, 'everything'),
    rateText(job.share.bytes, 'no bound'),
    rateText(job.used.bytes, ''),
    requests(job.used.operations ?? 0),
    percent(job.waits),
    percent(job.stall),
    job.stages,
  ];
  return element(
    'tr',
    undefined,
    element('th', job.job),
    ...cells.map((cell) => element('td', String(cell))),
  );
}

function budgetText({ gives, others }) {
  return `${gives}${others > 0 ? `; ${others} more jobs, which use less, are not shown` : ''}`;
}

/** The part of the page that shows a source. */
function partOf(name) {
  const known = shown.get(name);
  if (known !== undefined) return known;
  const part = {
    root: element('section'),
    budget: element('p'),
    rows: element('tbody'),
    charts: element('div'),
  };
  part.budget.className = 'lead';
  part.charts.className = 'charts';
  const head = element(
    'thead',
    undefined,
    element('tr', undefined, ...HEAD.map((text) => element('th', text))),
  );
  const table = element('table', undefined, head, part.rows);
  const wide = element('div', undefined, table);
  wide.className = 'wide';
  part.root.append(element('h2', name), part.budget, wide, part.charts);
  byId('sources').append(part.root);
  shown.set(name, part);
  return part;
}

function draw() {
  const last = frames.at(-1);
  if (last === undefined) return;
  if (last.lost !== undefined) {
    say(last.lost, true);
    return;
  }
  const jobs = new Set(last.sources.flatMap((source) => source.jobs.map(({ job }) => job)));
  const many = `${countOf(jobs.size, 'job')} at ${countOf(last.sources.length, 'source')}`;
  say(jobs.size === 0 ? 'No job reads from a source now.' : many);
  const names = last.sources.map(({ source }) => source);
  for (const [name, part] of shown) {
    if (names.includes(name)) continue;
    forget(part.charts);
    part.root.remove();
    shown.delete(name);
  }
  for (const source of last.sources) {
    const part = partOf(source.source);
    part.budget.textContent = budgetText(source);
    part.rows.replaceChildren(...source.jobs.map(rowOf));
    drawSource(part.charts, source, frames);
  }
  suggest('source-names', names);
  suggest('job-names', [...jobs, ...last.idle]);
}

function suggest(id, names) {
  byId(id)?.replaceChildren(
    ...names.map((name) => {
      const option = element('option');
      option.value = name;
      return option;
    }),
  );
}

function follow() {
  const events = new EventSource(`/events?token=${encodeURIComponent(token)}`);
  events.addEventListener('history', ({ data }) => {
    // Only who has the token hears it.
    byId('inside').hidden = false;
    frames = JSON.parse(data);
  });
  events.addEventListener('policy', ({ data }) => {
    byId('policy').textContent = JSON.parse(data).join('\n');
  });
  events.addEventListener('frame', ({ data }) => {
    frames.push(JSON.parse(data));
    if (frames.length > MOST_FRAMES) frames.shift();
    draw();
  });
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED)
      say('Open this page by the whole address that the command has printed.', true);
    else say('The command does not answer. It is asked again.', true);
  });
}

async function set(form, what) {
  const done = byId('done');
  const values = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''));
  const kind = form.dataset.kind;
  const body = what === 'clear' ? { [kind]: values[kind], clear: true } : values;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch('/set', { method: 'POST', headers, body: JSON.stringify(body) }).catch(
    () => undefined,
  );
  const { error, lines, notes } = (await answer?.json().catch(() => undefined)) ?? {
    error: 'The command does not answer.',
  };
  done.className = error === undefined ? '' : 'lost';
  done.textContent = error ?? [lines[0], ...notes].join('; ');
  if (error === undefined) byId('policy').textContent = lines.join('\n');
}

for (const form of document.querySelectorAll('form')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void set(form, event.submitter?.value);
  });
}
window.addEventListener('hashchange', () => location.reload());
follow();
