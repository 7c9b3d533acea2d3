import { TableBuilder, type RecordTable } from '../contract/format.js';

/** A sample some files of which were found. */
export interface Found {
  readonly name: string;
  readonly parts: Set<string>;
  readonly offset: number;
  end: number;
  isDamaged: boolean;
}

/** The latest sample of a name. */
interface Latest {
  readonly number: number;
  /** Its parts, by a sign that no file name has. */
  readonly parts: string;
}

const ADVICE = 'Write the shard again with the files in order, such as by tar --sort=name.';

/**
 * The samples of a shard, as they are found one behind the other. Holds the names of all, as long as the
 * shard is indexed.
 */
export class FoundSamples {
  readonly #tell: (offset: number, problem: string, advice: string) => void;
  readonly #places: { readonly offset: number; readonly length: number }[] = [];
  readonly #apart = new Set<number>();
  readonly #latest = new Map<string, Latest>();

  /** @param tell Is told of damage. */
  constructor(tell: (offset: number, problem: string, advice: string) => void) {
    this.#tell = tell;
  }

  /** Adds a sample, all files of which were found that follow one another. */
  add(found: Found | undefined): void {
    if (found === undefined || found.isDamaged) return;
    const { name, offset, end } = found;
    const number = this.#places.push({ offset, length: end - offset }) - 1;
    const before = this.#latest.get(name);
    const known = before?.parts.split('/') ?? [];
    const isApart = before !== undefined && !known.some((part) => found.parts.has(part));
    const parts = isApart ? [...known, ...found.parts] : [...found.parts];
    this.#latest.set(name, { number, parts: parts.join('/') });
    if (!isApart) return;
    const first = this.#places[before.number]?.offset ?? 0;
    this.#apart.add(before.number).add(number);
    this.#tell(offset, `the files of ${name} lie apart: others are at byte ${first}`, ADVICE);
  }

  /** The samples that are whole. */
  table(): RecordTable {
    const table = new TableBuilder();
    for (const [number, { offset, length }] of this.#places.entries())
      if (!this.#apart.has(number)) table.add(offset, length);
    return table.build();
  }
}

/** Of a member of a tar, which sample it belongs to, and as what. */
export interface Part {
  /** The name of the sample: the path up to the first dot of the file name. */
  readonly sample: string;
  /** What is behind that dot, in lower case. */
  readonly part: string;
}

/** What webdataset keeps for itself. */
const META = /^__[^/]*__($|\/)/;

/**
 * The part that a file is by webdataset's rule. Undefined for files that are none: those without a dot in
 * their name or with nothing before it, and those below `__name__`.
 */
export function partOf(path: string): Part | undefined {
  const dot = path.indexOf('.', path.lastIndexOf('/') + 1);
  const isHidden = dot === 0 || path[dot - 1] === '/';
  if (dot === -1 || isHidden || META.test(path)) return undefined;
  return { sample: path.slice(0, dot), part: path.slice(dot + 1).toLowerCase() };
}
