import type { Random } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import type { Call } from './traced.js';

/** What of a change that was not synced is there after a power cut. */
export type Kept = 'nothing' | 'all' | 'any';

/** A change of what a file holds. Bytes are undefined where its length was set. */
interface Write {
  readonly at: number;
  readonly bytes: Buffer | undefined;
  readonly ended: number;
  isSynced: boolean;
}

/** A change of what a name in a directory stands for. */
interface Change {
  readonly name: string;
  readonly to: Node | undefined;
  /** The name that it had before, which goes when this one comes. */
  readonly from: { readonly directory: Directory; readonly name: string } | undefined;
  readonly ended: number;
  isSynced: boolean;
}

class File {
  readonly writes: Write[] = [];
}

class Directory {
  /** As a process sees it now. */
  readonly names = new Map<string, Node>();
  readonly changes: Change[] = [];
}

type Node = File | Directory;

/** Where what was written of a file ends. */
function endOf(node: Node | undefined): number {
  const last = node instanceof File ? node.writes.at(-1) : undefined;
  return last === undefined ? 0 : last.at + (last.bytes?.byteLength ?? 0);
}

/** Bytes that a disk writes at once. */
const SECTOR = 512;

/**
 * What a file system promises of a directory and all below it, and no more: what was synced is there after a
 * power cut. Of all else any part may be there: of names, in the order of the changes of each; of bytes, any
 * of the writes, in whole sectors. Where a write is missing there may be zeros. A rename is whole or not
 * there.
 */
export class DiskModel {
  readonly #root: string;
  readonly #top = new Directory();

  constructor(root: string) {
    this.#root = root;
  }

  /** A call has ended. */
  apply(call: Call): void {
    const [one = '', other = ''] = call.paths;
    switch (call.name) {
      case 'openat':
        if (call.flags.includes('O_CREAT') && this.#find(one) === undefined)
          this.#change(call, one, new File());
        if (call.flags.includes('O_TRUNC')) this.#write(call, one, 0, undefined);
        break;
      case 'mkdir':
        this.#change(call, one, new Directory());
        break;
      case 'unlink':
      case 'rmdir':
        this.#change(call, one, undefined);
        break;
      case 'link':
        this.#change(call, other, this.#find(one));
        break;
      case 'rename':
        this.#change(call, other, this.#find(one), one);
        break;
      case 'pwrite64':
        this.#write(call, one, call.numbers.at(-1) ?? 0, call.bytes.subarray(0, call.result));
        break;
      case 'write':
        // Those of native threads follow each other in a new file.
        this.#write(call, one, endOf(this.#find(one)), call.bytes.subarray(0, call.result));
        break;
      case 'ftruncate':
        this.#write(call, one, call.numbers.at(-1) ?? 0, undefined);
        break;
      case 'fsync':
      case 'fdatasync':
        this.#sync(this.#find(one), call.began);
        break;
      default:
        if (this.#partsOf(one) !== undefined) throw new Error(`the model has no ${call.name}`);
    }
  }

  /** Makes, in an empty directory, what a power cut at this instant may leave. */
  writeTo(target: string, kept: Kept, random: Random): void {
    const directories = new Map<Directory, Map<string, Node>>();
    const renames: Change[] = [];
    const choose = (directory: Directory): void => {
      const names = new Map<string, Node>();
      directories.set(directory, names);
      for (const change of chosen(directory.changes, kept, random)) {
        if (change.to === undefined) names.delete(change.name);
        else names.set(change.name, change.to);
        if (change.from !== undefined) renames.push(change);
      }
      for (const { to } of directory.changes) if (to instanceof Directory && !directories.has(to)) choose(to);
    };
    choose(this.#top);
    for (const { from, to } of renames) {
      const names = from && directories.get(from.directory);
      if (from !== undefined && names?.get(from.name) === to) names?.delete(from.name);
    }
    const make = (directory: Directory, at: string): void => {
      fs.mkdirSync(at, { recursive: true });
      for (const [name, node] of directories.get(directory) ?? []) {
        const full = path.join(at, name);
        if (node instanceof Directory) make(node, full);
        else fs.writeFileSync(full, contentOf(node, kept, random));
      }
    };
    make(this.#top, target);
  }

  #change({ ended }: Call, full: string, to: Node | undefined, before?: string): void {
    const at = this.#entryOf(full);
    if (at === undefined) return;
    const from = before === undefined ? undefined : this.#entryOf(before);
    from?.directory.names.delete(from.name);
    if (to === undefined) at.directory.names.delete(at.name);
    else at.directory.names.set(at.name, to);
    at.directory.changes.push({ name: at.name, to, from, ended, isSynced: false });
  }

  #write({ ended }: Call, full: string, at: number, bytes: Buffer | undefined): void {
    const file = this.#find(full);
    if (file instanceof File) file.writes.push({ at, bytes, ended, isSynced: false });
  }

  /** What had ended when it was begun. */
  #sync(node: Node | undefined, began: number): void {
    const all = node instanceof Directory ? node.changes : (node?.writes ?? []);
    for (const one of all) if (one.ended < began) one.isSynced = true;
  }

  #find(full: string): Node | undefined {
    let node: Node | undefined = this.#top;
    for (const part of this.#partsOf(full) ?? ['']) {
      if (!(node instanceof Directory)) return undefined;
      node = part === '.' ? node : node.names.get(part);
    }
    return node;
  }

  #entryOf(full: string): { directory: Directory; name: string } | undefined {
    const directory = this.#partsOf(full) && this.#find(path.dirname(full));
    return directory instanceof Directory ? { directory, name: path.basename(full) } : undefined;
  }

  /** The way to a path from the root; undefined if it is not below it. */
  #partsOf(full: string): string[] | undefined {
    if (full === this.#root) return ['.'];
    return full.startsWith(`${this.#root}/`) ? full.slice(this.#root.length + 1).split('/') : undefined;
  }
}

/** The changes of names that are there: all that were synced, and of each name what came before these. */
function chosen(changes: readonly Change[], kept: Kept, random: Random): Change[] {
  const cuts = new Map<string, number>();
  for (const name of new Set(changes.map((change) => change.name))) {
    const ofName = changes.filter((change) => change.name === name);
    const least = ofName.findLastIndex(({ isSynced }) => isSynced) + 1;
    const more = kept === 'nothing' ? 0 : kept === 'all' ? Infinity : random.below(ofName.length - least + 1);
    cuts.set(name, least + more);
  }
  const seen = new Map<string, number>();
  return changes.filter(({ name }) => {
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before < (cuts.get(name) ?? 0);
  });
}

function contentOf({ writes }: File, kept: Kept, random: Random): Buffer {
  let content = Buffer.alloc(0);
  const lengthen = (length: number) => {
    if (length > content.byteLength)
      content = Buffer.concat([content, Buffer.alloc(length - content.byteLength)]);
  };
  for (const { at, bytes, isSynced } of writes) {
    const isWhole = isSynced || kept === 'all' || (kept === 'any' && random.below(2) === 0);
    if (bytes === undefined) {
      if (isWhole) content = content.subarray(0, at);
      if (isWhole) lengthen(at);
      continue;
    }
    if (!isWhole && (kept === 'nothing' || random.below(3) === 0)) continue;
    lengthen(at + bytes.byteLength);
    const sectors = random.below(Math.ceil(bytes.byteLength / SECTOR) + 1);
    bytes.copy(content, at, 0, isWhole ? bytes.byteLength : sectors * SECTOR);
  }
  return content;
}
