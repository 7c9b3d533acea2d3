import type { Clock, Hierarchy } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import { BatchReading } from '../../../packages/gateway/src/batches/batch-reading.js';
import { parseBatch } from '../../../packages/gateway/src/batches/batch-request.js';
import { HierarchyStorage } from '../../../packages/gateway/src/hierarchy/hierarchy-storage.js';
import { ReadWatch } from '../../../packages/gateway/src/hierarchy/levels.js';
import { PieceMemory } from '../../../packages/gateway/src/hierarchy/piece-memory.js';
import type { SimulatedProcess } from '../simulated/process.js';

const BUCKET = 'objects';
/** As the gateway takes them. */
const BATCH = { most: 1000, withEtags: true, withSums: true } as const;
const MEMORY = 2 ** 20;

/** What a server gives to others. */
export interface ServerParts {
  readonly hierarchy: Hierarchy;
  readonly fetches: (key: string, bytes: number) => boolean;
  readonly clock: Clock;
  /** That of the server. */
  readonly process: SimulatedProcess;
  readonly host: number;
  /** Told of what it is asked for. */
  readonly onAsked: (key: string) => void;
}

/** A node that answers others: the gateway, without its sockets. */
export class PeerServer {
  readonly host: number;
  readonly process: SimulatedProcess;
  readonly #onAsked: (key: string) => void;
  readonly #watch = new ReadWatch();
  readonly #closing = new AbortController();
  readonly #storages: ReadonlyMap<string, HierarchyStorage>;
  readonly #answering = new Set<Promise<void>>();

  constructor({ process, host, onAsked, ...parts }: ServerParts) {
    this.#onAsked = onAsked;
    this.host = host;
    this.process = process;
    const storage = new HierarchyStorage({
      ...parts,
      prefix: '',
      changing: undefined,
      watch: this.#watch,
      memory: new PieceMemory(MEMORY),
      closing: this.#closing.signal,
    });
    this.#storages = new Map([[BUCKET, storage]]);
  }

  /** Aborts when it breaks off its answers. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Answers a request, piece by piece. Rejects instead of an answer that is an error.
   * @param connection Aborts when the client is gone.
   */
  async *answer(body: Uint8Array, connection: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    let over: () => void = () => undefined;
    const answering = new Promise<void>((resolve) => (over = resolve));
    this.#answering.add(answering);
    const ended = new AbortController();
    // What is stopped learns of nothing.
    const end = (reason: Error) => void this.process.gate().then(() => ended.abort(reason));
    const stops = [onAbort(connection, end), onAbort(this.#closing.signal, end)];
    try {
      const request = parseBatch(body, { bucket: BUCKET }, BATCH);
      for (const { key } of request.items) this.#onAsked(key);
      const pieces = new BatchReading(this.#storages, request, { signal: ended.signal, onlyIfCached: false });
      for await (const piece of pieces) {
        await this.process.gate();
        yield piece;
      }
    } finally {
      for (const stop of stops) stop();
      this.#answering.delete(answering);
      over();
    }
  }

  /** Breaks off all answers; resolves when nothing of them is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The server ends.'));
    await Promise.all(this.#answering);
    this.dispose();
  }

  /** As when its process is gone. */
  dispose(): void {
    this.#watch.close();
  }
}
