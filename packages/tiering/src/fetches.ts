import type { StorageDriver } from '@tiered/core';
import { Fetch } from './fetch.js';

/** What to fetch, and how. */
export interface FetchRequest {
  readonly id: number;
  readonly key: string;
  /** Of the object as it is known now: later versions do not join. */
  readonly version: string;
  readonly offset: number;
  readonly length: number;
  /** Bytes of a request to the source at most. */
  readonly chunkBytes: number;
}

/** Every fetch under way, by the object it brings, with what they cost the source and this process. */
export class Fetches {
  readonly #byObject = new Map<number, Set<Fetch>>();
  readonly #source: StorageDriver;
  #count = 0;
  #bytes = 0;
  #sourceReads = 0;
  #sourceBytes = 0;
  #onEnd: (() => void)[] = [];

  constructor(source: StorageDriver) {
    this.#source = source;
  }

  /** Fetches under way, the memory they hold, and the requests and bytes of the source so far. */
  get stats(): { fetching: number; fetchingBytes: number; sourceReads: number; sourceBytes: number } {
    return {
      fetching: this.#count,
      fetchingBytes: this.#bytes,
      sourceReads: this.#sourceReads,
      sourceBytes: this.#sourceBytes,
    };
  }

  /** A fetch that brings this range of this version already. */
  covering(id: number, version: string, offset: number, length: number): Fetch | undefined {
    for (const fetch of this.#byObject.get(id) ?? []) {
      if (fetch.version === version && fetch.covers(offset, length)) return fetch;
    }
    return undefined;
  }

  /** Makes a fetch; it is forgotten when its last user has left. */
  start({ id, key, version, offset, length, chunkBytes }: FetchRequest): Fetch {
    const range = { source: this.#source, key, version, start: offset, end: offset + length, chunkBytes };
    const fetch = new Fetch(range, {
      onChunk: (bytes) => {
        this.#sourceReads += 1;
        this.#sourceBytes += bytes;
      },
      onUnused: () => this.#end(id, fetch),
    });
    this.#count += 1;
    this.#bytes += fetch.bytes;
    const siblings = this.#byObject.get(id);
    if (siblings === undefined) this.#byObject.set(id, new Set([fetch]));
    else siblings.add(fetch);
    return fetch;
  }

  /** Resolves when a fetch has ended, and its memory is free. */
  oneEnded(): Promise<void> {
    return new Promise((resolve) => this.#onEnd.push(resolve));
  }

  /** Cancels all, and waits until none is left. Nobody starts one meanwhile. */
  async cancelAll(reason: Error): Promise<void> {
    for (const fetches of this.#byObject.values()) for (const fetch of fetches) fetch.cancel(reason);
    while (this.#count > 0) await this.oneEnded();
  }

  #end(id: number, fetch: Fetch): void {
    this.#count -= 1;
    this.#bytes -= fetch.bytes;
    const siblings = this.#byObject.get(id);
    siblings?.delete(fetch);
    if (siblings?.size === 0) this.#byObject.delete(id);
    const waiting = this.#onEnd;
    this.#onEnd = [];
    for (const resolve of waiting) resolve();
  }
}
