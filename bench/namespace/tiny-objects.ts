import type { ListOptions, ObjectStat } from '@tiered/core';
import { BaseDriver, notFound, type ReadIntoOptions, type ReadOptions } from '@tiered/core/driver';
import { createHash } from 'node:crypto';

/** Bytes of each object: what it takes to know of an object does not depend on its size. */
export const TINY_BYTES = 16;

const CLASSES = 1000;
const PAGE = 1000;

/**
 * A source as S3 shows it, of objects that are made when they are asked for: named as those of ImageNet, in a
 * thousand directories.
 */
export class TinyObjects extends BaseDriver {
  readonly #count: number;

  constructor(count: number) {
    super({ name: 'tiny objects', capabilities: { list: true, usage: false } });
    this.#count = count;
  }

  *keys(): Generator<string> {
    for (let i = 0; i < this.#count; i++) yield keyAt(i);
  }

  protected async statObject(key: string): Promise<ObjectStat> {
    const index = Number(/_(\d+)\.JPEG$/.exec(key)?.[1] ?? Number.NaN);
    if (index < this.#count && keyAt(index) === key) return statOf(key);
    throw notFound(this, 'stat', key);
  }

  protected override async *listObjects({ prefix = '' }: ListOptions): AsyncGenerator<readonly ObjectStat[]> {
    let page: ObjectStat[] = [];
    for (const key of this.keys()) {
      if (key.startsWith(prefix)) page.push(statOf(key));
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  protected async readRange(_: string, { offset, length }: ReadOptions): Promise<Uint8Array> {
    return new Uint8Array(Math.max(0, Math.min(length, TINY_BYTES - offset)));
  }

  protected override async readRangeInto(
    _: string,
    target: Uint8Array,
    { offset }: ReadIntoOptions,
  ): Promise<number> {
    const bytes = Math.max(0, Math.min(target.byteLength, TINY_BYTES - offset));
    target.fill(0, 0, bytes);
    return bytes;
  }
}

function keyAt(index: number): string {
  const name = `n${String(index % CLASSES).padStart(8, '0')}`;
  return `train/${name}/${name}_${index}.JPEG`;
}

/** The version is an ETag: 32 hexadecimal digits in quotes. */
function statOf(key: string): ObjectStat {
  return { key, size: TINY_BYTES, version: `"${createHash('md5').update(key).digest('hex')}"` };
}
