import type { Hierarchy } from '@tiered/core';
import picomatch from 'picomatch';
import { FreshCalls } from './fresh-calls.js';

type Known = Awaited<ReturnType<Hierarchy['revalidate']>>;

/** Names in keys may begin with dots. Keys may contain any character. */
const OPTIONS = { dot: true, flags: 's' };

/** Prefix of keys and patterns, which gives the directory above all keys a name too. */
const ROOT = 'root/';

/**
 * The keys of a bucket whose objects change, as globs and prefixes. The source is asked before a request for
 * one of them is answered, once for all concurrent requests.
 */
export class ChangingKeys {
  readonly #isKey: (key: string) => boolean;
  readonly #isDirectory: (directory: string) => boolean;
  readonly #prefixes: readonly string[];
  readonly #stats: FreshCalls<Known>;
  readonly #listings: FreshCalls<void>;

  /**
   * @param patterns Globs of keys of the hierarchy.
   * @param prefixes Prefixes of keys of the hierarchy. Each ends with `/`.
   */
  constructor(hierarchy: Hierarchy, patterns: readonly string[], prefixes: readonly string[]) {
    this.#prefixes = prefixes;
    const rooted = patterns.map((pattern) => ROOT + pattern);
    this.#isKey = picomatch(rooted, OPTIONS);
    this.#isDirectory = picomatch(rooted.map(directoryOf), OPTIONS);
    this.#stats = new FreshCalls((key, signal) => hierarchy.revalidate(key, { signal }));
    this.#listings = new FreshCalls((prefix, signal) => hierarchy.rescan({ prefix, signal }));
  }

  /** Whether the object of this key changes. */
  has(key: string): boolean {
    return this.#isBelow(key) || this.#isKey(ROOT + key);
  }

  /** Describes an object as the source has it now. */
  stat(key: string, signal: AbortSignal): Promise<Known> {
    return this.#stats.call(key, signal);
  }

  /**
   * Lists a prefix in the source and updates the hierarchy, if objects directly in its directory may change.
   */
  async list(prefix: string, signal: AbortSignal): Promise<void> {
    const rooted = ROOT + prefix;
    if (this.#isBelow(prefix) || this.#isDirectory(rooted.slice(0, rooted.lastIndexOf('/'))))
      await this.#listings.call(prefix, signal);
  }

  #isBelow(key: string): boolean {
    return this.#prefixes.some((prefix) => key.startsWith(prefix));
  }
}

/** The glob of the directories that directly contain the matches of a glob. */
function directoryOf(pattern: string): string {
  const slash = picomatch.scan(pattern, { parts: true }).slashes?.at(-1) ?? 0;
  return pattern.slice(slash + 1) === '**' ? pattern : pattern.slice(0, slash);
}
