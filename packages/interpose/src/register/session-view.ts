import { systemClock } from '@tiered/core';
import { copyName } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inodeOf } from '../daemon/source-file.js';
import { packedDevice } from '../table/layout.js';
import { real } from './real-fs.js';
import { TableView, type TableEntry } from './table-view.js';

/** Between two attempts to open a table. */
const RETRY_MS = 250;

/** A file of the source. */
export interface Found {
  readonly key: string;
  /** By the first path of the root. */
  readonly source: string;
  /** The path of its copy; undefined if it has none. */
  readonly copy: string | undefined;
  readonly entry: TableEntry;
  /** Whether the root need not be there. */
  readonly isImagined: boolean;
}

/** What may be below a root that need not be there. */
export interface Imagined {
  /** As the program named it. */
  readonly name: string;
  /** By the first path of the root. */
  readonly source: string;
  /** Empty for the root. */
  readonly key: string;
  /** Where a directory is that stands for it, if it is one. */
  readonly tree: string;
  /** If it is a file. */
  readonly found: Found | undefined;
}

/** What a daemon says of files. Where nothing can be said for sure, it is nothing. */
export class SessionView {
  readonly #file: string;
  #table: TableView | undefined;
  /** Those of its roots that are the daemon's root to this process too. */
  #roots: readonly string[] = [];
  #nextAttempt = -Infinity;

  /** @param directory Of the session. */
  constructor(directory: string) {
    this.#file = path.join(directory, 'table');
  }

  /** Whether there is a daemon, and it lives. */
  get isServed(): boolean {
    return this.#current()?.isLive === true;
  }

  /** What a path names, as the kernel would resolve it; undefined if that is no object, or not certain. */
  find(name: fs.PathLike): Found | undefined {
    const table = this.#current();
    if (table === undefined || table.isImaginary) return undefined;
    const file = canonical(name);
    const root = this.#roots.find((one) => file?.startsWith(`${one}/`) === true);
    if (file === undefined || root === undefined || !table.isLive) return undefined;
    return this.#look(table, file.slice(root.length + 1));
  }

  /** What a path is below a root that need not be there; undefined if it is not below one. */
  imagine(name: fs.PathLike): Imagined | undefined {
    if (this.#table?.isImaginary === false) return undefined;
    const table = this.#current();
    if (table?.isImaginary !== true) return undefined;
    const text = textOf(name);
    // There are no links, so what is above is what the text says. The rest is Node's to refuse.
    const file = text === undefined || text === '' || text.includes('\0') ? undefined : path.resolve(text);
    const root = this.#roots.find((one) => `${file ?? ''}/`.startsWith(`${one}/`));
    if (text === undefined || file === undefined || root === undefined) return undefined;
    const key = file.slice(root.length + 1);
    const [first = '', tree = ''] = this.#roots;
    const found = key === '' ? undefined : this.#look(table, key);
    return { name: text, key, found, source: path.join(first, key), tree: path.join(tree, key) };
  }

  #look(table: TableView, key: string): Found | undefined {
    const entry = table.find(key);
    if (entry === undefined) return undefined;
    const { place } = entry;
    const copy = place && path.join(table.tiers[place.level] ?? '', copyName(key, place.tag));
    const source = path.join(this.#roots[0] ?? '', key);
    return { key, entry, copy, source, isImagined: table.isImaginary };
  }

  #current(): TableView | undefined {
    if (this.#table?.isOutdated === true) {
      this.#table.close();
      this.#table = undefined;
    }
    if (this.#table === undefined && systemClock.now() >= this.#nextAttempt) {
      this.#nextAttempt = systemClock.now() + RETRY_MS;
      this.#open();
    }
    return this.#table;
  }

  #open(): void {
    const table = TableView.at(this.#file);
    if (table === undefined) return;
    this.#roots = table.roots.filter((root) => isRoot(table, root));
    // It is still the old one, if the daemon ended.
    if (table.isOutdated || this.#roots.length === 0) table.close();
    else this.#table = table;
  }
}

/** Whether a path leads to the daemon's root. In another mount namespace it may lead anywhere. */
function isRoot({ rootInode, rootDevice }: TableView, root: string): boolean {
  if (rootInode === 0n) return true;
  const stat = real.statSync(root, { bigint: true, throwIfNoEntry: false });
  return stat !== undefined && inodeOf(stat.ino) === rootInode && packedDevice(stat.dev) === rootDevice;
}

/** A path as the kernel would resolve it, unless links are in the way; undefined if that cannot be told. */
function canonical(name: fs.PathLike): string | undefined {
  const text = textOf(name);
  // A slash at the end asks for a directory.
  if (text === undefined || text === '' || /(^|\/)\.?$/.test(text)) return undefined;
  try {
    if (!/(^|\/)\.\.(\/|$)/.test(text)) return path.resolve(text);
    // What is above a link is not what the text says.
    const last = path.basename(text);
    return last === '..' ? undefined : path.join(real.realpathSync(path.dirname(text)), last);
  } catch {
    return undefined;
  }
}

function textOf(name: fs.PathLike): string | undefined {
  if (typeof name === 'string') return name;
  try {
    if (name instanceof URL) return fileURLToPath(name);
    const text = name.toString('utf8');
    return Buffer.from(text).equals(name) ? text : undefined;
  } catch {
    return undefined;
  }
}
