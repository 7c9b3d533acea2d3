import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { TieredError } from '@tiered/core';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml';

/** The path of a value in a configuration: keys of mappings and indexes of lists. */
export type Path = readonly (string | number)[];

/** A position in the text of a file. Lines and columns begin with 1. */
export interface Position {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** A configuration as given, unchecked. */
export interface ConfigDocument {
  /** The file name as given. Undefined for an object. */
  readonly name: string | undefined;
  readonly value: unknown;
  /** An absolute path. */
  readonly baseDirectory: string;
  /** Returns the position of a field, or of the closest value that encloses it. */
  positionOf(path: Path): Position | undefined;
}

/**
 * Reads a configuration from a file of YAML 1.2 or JSON.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the file cannot be read, is neither YAML nor JSON, is empty,
 * or holds only a single value.
 */
export async function readDocument(file: string | URL): Promise<ConfigDocument> {
  const name = typeof file === 'string' ? file : pathOf(file);
  const extension = path.extname(name).toLowerCase();
  if (!['.yaml', '.yml', '.json'].includes(extension)) {
    throw fileError(name, undefined, 'expected a file whose name ends with .yaml, .yml or .json');
  }
  const text = await textOf(name);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    resolveKnownTags: false,
  });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { offset, line, column: col };
  };
  // The first error is enough, because the others follow from it.
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) {
    const quoteIt = text.startsWith('${', wrong.pos[0] - 1);
    const message = quoteIt
      ? 'put text with a variable in quotes inside of { } and [ ], as in { root: "${DATA}" }'
      : withoutContent(wrong.message);
    throw fileError(name, positionAt(wrong.pos[0]), message);
  }
  const value = extension === '.json' ? parseJson(name, text) : toValue(name, document);
  if (value === null) throw fileError(name, undefined, 'the file is empty; it needs at least a source');
  if (typeof value !== 'object')
    throw fileError(name, undefined, 'expected a mapping with a source, got text');
  const baseDirectory = path.dirname(path.resolve(name));
  return {
    name,
    value,
    baseDirectory,
    positionOf: (where) => {
      const offset = offsetOf(document, where);
      return offset === undefined ? undefined : positionAt(offset);
    },
  };
}

/** Prefixes a message with its position, in the form that editors and terminals understand. */
export function located(name: string | undefined, position: Position | undefined, message: string): string {
  const place = [name, position?.line, position?.column].filter((part) => part !== undefined).join(':');
  return place === '' ? message : `${place}: ${message}`;
}

function fileError(
  name: string | undefined,
  position: Position | undefined,
  message: string,
  cause?: unknown,
): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', located(name, position, message), { cause });
}

function pathOf(url: URL): string {
  if (url.protocol === 'file:') return fileURLToPath(url);
  throw fileError(undefined, undefined, `expected the URL of a file, file:..., got ${url.protocol}...`);
}

async function textOf(name: string): Promise<string> {
  try {
    const text = await readFile(name, 'utf8');
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch (error) {
    throw fileError(name, undefined, reasonOf(error), error);
  }
}

/** Returns the reason why a file cannot be read. */
export function reasonOf(error: unknown): string {
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    ENOTDIR: 'there is no such file',
    EISDIR: 'this is a directory; name a file in it',
    EACCES: 'access is denied; check owner and mode',
  };
  const { code = '' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? `the file cannot be read (${code})`;
}

function toValue(name: string, document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // An alias without its anchor, or so many aliases that expanding them is an attack.
    throw fileError(name, undefined, withoutContent((error as Error).message));
  }
}

/** Removes the file's content from a message of the parser, because it may be a secret. */
function withoutContent(message: string): string {
  return message.replace(/: .*$/s, '');
}

/** Accepts only JSON, so that other programs can read the file too. */
function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message shows a part of the file.
    throw fileError(
      name,
      undefined,
      'this is not JSON; comments, trailing commas and text without quotes are for YAML, so name the file .yaml',
    );
  }
}

/**
 * Returns the offset of a field in the text: of its key, or of its list item. For a missing field, it is the
 * offset of the enclosing value.
 */
function offsetOf(document: Document, where: Path): number | undefined {
  for (let length = where.length; length > 0; length--) {
    const holder = document.getIn(where.slice(0, length - 1), true);
    const key = where[length - 1];
    const node = isMap(holder)
      ? holder.items.find((pair) => isScalar(pair.key) && pair.key.value === key)?.key
      : isSeq(holder) && typeof key === 'number'
        ? holder.items[key]
        : undefined;
    const range = (node as { readonly range?: readonly [number, ...number[]] | null } | undefined)?.range;
    if (range) return range[0];
  }
  return undefined;
}

/** A mapping of a configuration, unchecked. */
export type Mapping = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields of a mapping whose keys match. */
export function partOf(mapping: Mapping, keep: (key: string) => boolean): Mapping {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => keep(key)));
}
