import type { Hierarchy } from '@tiered/core';
import picomatch from 'picomatch';
import { FreshCalls } from './fresh-calls.js';

type Known = Awaited<ReturnType<Hierarchy['revalidate']>>;

/** Keys may have dots at the beginning of names, and any character. */
const OPTIONS = { dot: true, flags: 's' };

/** Stands before keys and patterns, so that the directory above all keys has a name too. */
const ROOT = 'root/';

/**
 * The keys of a bucket whose objects change, by globs and prefixes. The source is asked before a request for
 * one of them is answered, once for all who ask at the same time.
 */
export class ChangingKeys {
  readonly #isKey: (key: string) => boolean;
  readonly #isDirectory: (directory: string) => boolean;
  readonly #prefixes: readonly string[];
  readonly #stats: FreshCalls<Known>;
  readonly #listings: FreshCalls<void>;

  /**
   * @param patterns Globs of keys of the hierarchy.
   * @param prefixes Of keys of the hierarchy; each ends with `/`.
   */
  constructor(hierarchy: Hierarchy, patterns: readonly string[], prefixes: readonly string[]) {
    this.#prefixes = prefixes;
    const rooted = patterns.map((pattern) => ROOT + pattern);
    this.#isKey = picomatch(rooted, OPTIONS);
    this.#isDirectory = picomatch(rooted.map(directoryOf), OPTIONS);
    this.#stats = new FreshCalls((key, signal) => hierarchy.revalidate(key, { signal }));
    this.#listings = new FreshCalls((prefix, signal) => hierarchy.rescan({ prefix, signal }));
  }

  /** Whether the object of a key changes. */
  has(key: string): boolean {
    return this.#isBelow(key) || this.#isKey(ROOT + key);
  }

  /** Describes an object as the source has it now. */
  stat(key: string, signal: AbortSignal): Promise<Known> {
    return this.#stats.call(key, signal);
  }

  /** Takes in the keys with a prefix from the source, if some directly in its directory may change. */
  async list(prefix: string, signal: AbortSignal): Promise<void> {
    const rooted = ROOT + prefix;
    if (this.#isBelow(prefix) || this.#isDirectory(rooted.slice(0, rooted.lastIndexOf('/'))))
      await this.#listings.call(prefix, signal);
  }

  #isBelow(key: string): boolean {
    return this.#prefixes.some((prefix) => key.startsWith(prefix));
  }
}

/** The glob of the directories that what a glob matches is directly in. */
function directoryOf(pattern: string): string {
  const slash = picomatch.scan(pattern, { parts: true }).slashes?.at(-1) ?? 0;
  return pattern.slice(slash + 1) === '**' ? pattern : pattern.slice(0, slash);
}
