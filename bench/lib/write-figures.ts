import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Check, Row } from './bench.js';
import { reached, tablesOf, type TextTable } from './table.js';

/** What a run found, and on which machine. */
export interface Figures {
  readonly bench: string;
  /** In UTC, such as 2026-11-22. */
  readonly day: string;
  /** Of Node, such as v20.19.0. */
  readonly version: string;
  readonly cores: number;
  /** Of the cores, from 0 to 1: see `othersShare`. */
  readonly othersShare: number;
  readonly rows: readonly Row[];
  readonly checks: readonly Check[];
  /** A whole SVG document, if the bench draws one. */
  readonly picture?: string;
}

/** From this share on, the page says in bold that the machine was busy. */
const BUSY_SHARE = 0.05;

const END = '<!-- end of figures -->';

/**
 * Writes the figures into their block of the page, and the picture beside the page.
 * @throws Error if the page has no block for them, before anything is written.
 */
export async function writeFigures(page: string, figures: Figures): Promise<void> {
  const text = await withFigures(await readFile(page, 'utf8'), figures);
  if (figures.picture !== undefined)
    await writeFile(path.join(path.dirname(page), pictureOf(figures.bench)), figures.picture);
  await writeFile(page, text);
}

/**
 * The page with these figures in place of those that it had of this bench. All else stays as it is.
 * @throws Error if the page has no block for them.
 */
export async function withFigures(page: string, figures: Figures): Promise<string> {
  const { start, end } = blockOf(page, figures.bench);
  // Not loaded before: it would count in benches that measure memory.
  const { format } = await import('prettier');
  // Formatted alone, so that what is written by hand keeps its form.
  const block = await format(markdownOf(figures), { parser: 'markdown' });
  return `${page.slice(0, start)}\n\n${block}\n${page.slice(end)}`;
}

/**
 * Where the figures of a bench are in a page: from behind their first line to the last one.
 * @throws Error if they have no block; it says which lines to add.
 */
export function blockOf(page: string, bench: string): { readonly start: number; readonly end: number } {
  const first = `<!-- figures of ${bench} -->`;
  const start = page.indexOf(first) + first.length;
  const end = page.indexOf(END, start);
  const next = page.indexOf('<!-- figures of ', start);
  const isOpen = end === -1 || (next !== -1 && next < end);
  if (page.includes(first) && !isOpen) return { start, end };
  throw new Error(
    `The page has no block for the figures of the bench "${bench}". ` +
      `Add these two lines to the section of the bench:\n${first}\n${END}`,
  );
}

function markdownOf({ bench, rows, checks, picture, ...machine }: Figures): string {
  const aims: TextTable = {
    head: ['what', 'aim', 'reached', ''],
    aligns: ['left', 'right', 'right', 'left'],
    lines: checks.map((check) => [check.name, check.aim, reached(check), check.ok ? 'ok' : 'missed']),
  };
  const tables = [...tablesOf(rows), ...(checks.length > 0 ? [aims] : [])];
  const image = picture === undefined ? [] : [`![The figures of ${bench}](${pictureOf(bench)})`];
  return [takenOf(bench, machine), ...tables.map(tableOf), ...image].join('\n\n');
}

function takenOf(
  bench: string,
  { day, version, cores, othersShare }: Pick<Figures, 'day' | 'version' | 'cores' | 'othersShare'>,
): string {
  const taken = `\`npm run bench -- ${bench}\` on ${day}, Node ${version}, ${cores} cores`;
  const share = `${Math.round(othersShare * 100)} % busy with other things`;
  return othersShare < BUSY_SHARE
    ? `${taken}, ${share}.`
    : `${taken}. **The machine was ${share}: these are figures of a busy machine.**`;
}

function tableOf({ head, aligns, lines }: TextTable): string {
  const rule = aligns.map((align) => (align === 'right' ? '--:' : '---'));
  const escaped = [head, ...lines].map((cells) => cells.map(escape));
  const [first = [], ...others] = escaped;
  return [first, rule, ...others].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Keeps Markdown from reading anything but text in a cell. */
function escape(cell: string): string {
  return cell.replace(/\s+/g, ' ').replace(/[\\`*_[|~]|<(?=[a-z/!?])/gi, '\\$&');
}

function pictureOf(bench: string): string {
  return `${bench}.svg`;
}
