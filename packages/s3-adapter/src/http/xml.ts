import type { Clock } from '@tiered/core';
import { SaxesParser } from 'saxes';

/**
 * Receives an element without child elements: its text, and its names from the root on, which are valid only
 * during the call.
 */
export type LeafTaker = (names: readonly string[], text: string) => void;

/** How to read a text in turns. */
export interface TurnOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Called when an element begins, with its names from the root on. */
  readonly opened?: ((names: readonly string[]) => void) | undefined;
}

/** Characters that are parsed in one go, in about a millisecond. */
const SLICE = 32 * 1024;

/**
 * Visits the elements of an XML text that have no child elements, in order. Only the five entities of XML
 * itself are expanded. A document type, which could declare others, is refused. Takes time in proportion to
 * the text, whatever the depth and the names of its elements. For small texts, since it blocks the event
 * loop.
 * @throws Error for text that is not well-formed, and any error of `take`.
 */
export function readLeaves(xml: Uint8Array, take: LeafTaker): void {
  const parseNext = slices(xml, take);
  while (parseNext());
}

/** Like `readLeaves`, for large texts: it yields to the event loop in between. An abort ends it. */
export async function readLeavesInTurns(
  xml: Uint8Array,
  take: LeafTaker,
  { clock, signal, opened }: TurnOptions,
): Promise<void> {
  const parseNext = slices(xml, take, opened);
  while (parseNext()) {
    await clock.turn();
    signal?.throwIfAborted();
  }
}

/** Returns a function that parses the next slice of a text. It returns false after the last slice. */
function slices(xml: Uint8Array, take: LeafTaker, opened?: TurnOptions['opened']): () => boolean {
  const parser = parserFor(take, opened);
  // Some servers send blanks before the declaration to keep a slow answer alive.
  const text = Buffer.from(xml.buffer, xml.byteOffset, xml.byteLength).toString('utf8').trimStart();
  let from = 0;
  return () => {
    parser.write(text.slice(from, from + SLICE));
    from += SLICE;
    if (from < text.length) return true;
    parser.close();
    return false;
  };
}

function parserFor(take: LeafTaker, opened: TurnOptions['opened']): SaxesParser {
  // Names are kept apart. Joined into paths, those of deep elements would each be as long as the text.
  const names: string[] = [];
  let text = '';
  let isLeaf = false;
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new Error('A document type is not accepted.');
  });
  parser.on('opentag', ({ name }) => {
    names.push(name);
    text = '';
    isLeaf = true;
    opened?.(names);
  });
  const append = (part: string) => {
    text += part;
  };
  parser.on('text', append);
  parser.on('cdata', append);
  parser.on('closetag', () => {
    if (isLeaf) take(names, text);
    names.pop();
    isLeaf = false;
  });
  return parser;
}

/**
 * The text of the first child of the root with these names. Undefined if there is none, or if this is not
 * XML.
 */
export function textAt(xml: Uint8Array, root: string, child: string): string | undefined {
  let found: string | undefined;
  try {
    readLeaves(xml, (names, text) => {
      if (names.length === 2 && names[0] === root && names[1] === child) found ??= text;
    });
    return found;
  } catch {
    return undefined;
  }
}

const SPECIAL = /[&<>"'\r\n\t]/g;

/** Escapes text so that XML preserves it. */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => `&#${character.charCodeAt(0)};`);
}

// Control characters other than tab and line ends, and two that are no characters. XML 1.0 cannot hold them,
// not even escaped.
// eslint-disable-next-line no-control-regex -- they are what is looked for
const IMPOSSIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Whether XML can contain a text. */
export function fitsXml(text: string): boolean {
  return !IMPOSSIBLE.test(text);
}
