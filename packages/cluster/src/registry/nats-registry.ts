import type { Bucket, KvEntry } from '@nats-io/kv';
import { systemClock, type Clock } from '@tiered/core';
import { configError, onAbort, raceAbort } from '@tiered/core/internal';
import { Calls } from './calls.js';
import { assertSlot, checkedRecord } from './checks.js';
import { NatsLink } from './nats-connection.js';
import { isBucketGone, isWrongRevision, natsError } from './nats-errors.js';
import { settingsOf, type NatsRegistryOptions, type NatsSettings } from './nats-options.js';
import type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';
import { Watchers } from './watchers.js';

/** Milliseconds after which a call times out. */
const BOUND_MS = 5000;
/** Milliseconds between attempts to watch. */
const AGAIN_MS = 1000;
/** Records that are requested at a time. */
const AT_A_TIME = 64;

/** The abort reason of a watch that has ended. */
const ENDED = new Error('the watch has ended');

/**
 * A registry for workers of several machines: a bucket of NATS JetStream. The server has to be started with
 * `-js`; versions from 2.9 on are tested. Several registries may share a server under different names.
 *
 * A slot has one owner: it is taken only if it is free, and renewed only at the revision that was read. `put`
 * costs two requests; `all` costs one, and one for each record. Records expire by the clock of the server,
 * without a hint to watchers. They live for the `ttlMs` of the registry; `put` rejects with
 * `TIERED_CONFIG_INVALID` for a longer lifetime.
 *
 * `open` rejects with `TIERED_UNAVAILABLE` if no server can be reached, `TIERED_PERMISSION` for wrong
 * credentials, `TIERED_UNSUPPORTED` without JetStream, and `TIERED_CONFIG_INVALID` if the bucket has another
 * `ttlMs`. After that, a lost connection is retried for ever in the background. Calls without a connection
 * reject with `TIERED_UNAVAILABLE` after 5 s. A server that has lost its storage gets a new bucket with the
 * next record.
 */
export class NatsRegistry implements Registry {
  readonly name: string;
  readonly longestTtlMs: number;
  readonly #options: NatsRegistryOptions;
  readonly #settings: NatsSettings;
  readonly #clock: Clock;
  readonly #calls: Calls;
  #link: Promise<NatsLink> | undefined;
  readonly #watchers: Watchers;

  /** @throws TieredError `TIERED_CONFIG_INVALID`, which shows no secrets. */
  constructor(options: NatsRegistryOptions) {
    this.#options = options;
    this.#settings = settingsOf(options);
    this.longestTtlMs = this.#settings.ttlMs;
    this.name = `nats:${this.#settings.servers.join(',')}/${this.#settings.bucket}`;
    this.#clock = options.clock ?? systemClock;
    this.#calls = new Calls(this.name, this.#clock, BOUND_MS);
    this.#watchers = new Watchers((signal) => {
      if (!this.#calls.isClosed) void this.#watch(signal);
    });
  }

  async open({ signal }: RegistryCallOptions = {}): Promise<void> {
    try {
      await this.#calls.open(signal, (ends) => this.#use(async () => undefined, ends));
    } catch (error) {
      void this.#disconnect();
      throw error;
    }
  }

  async put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    const text = checkedRecord(entry, options);
    const { ttlMs } = this.#settings;
    if (options.ttlMs > ttlMs)
      throw configError('ttlMs', `at most ${ttlMs}, which the bucket has`, options.ttlMs);
    const { slot, owner } = entry;
    const value = `{"owner":${JSON.stringify(owner)},"record":${text}}`;
    return this.#calls.run(options.signal, (ends) =>
      this.#use((bucket) => putSlot(bucket, slot, owner, value, ends), ends),
    );
  }

  all({ signal }: RegistryCallOptions = {}): Promise<readonly RegistryEntry[]> {
    return this.#calls.run(signal, (ends) => this.#use((bucket) => allOf(bucket, ends), ends));
  }

  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  async leave(slot: string, owner: string, { signal }: RegistryCallOptions = {}): Promise<void> {
    assertSlot(slot);
    return this.#calls.run(signal, (ends) =>
      this.#use((bucket) => leaveSlot(bucket, slot, owner, ends), ends),
    );
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#calls.close();
    await this.#disconnect();
  }

  /** Closes the connection, also one that is still being made. */
  async #disconnect(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    await link?.then(
      (made) => made.close(),
      () => undefined,
    );
  }

  /** Runs `work` with the bucket, and retries once if the bucket turns out to be gone. */
  async #use<T>(work: (bucket: Bucket) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      const link = await this.#connected(signal);
      try {
        return await work(await link.bucket());
      } catch (error) {
        if (!isBucketGone(error)) throw error;
        link.forgetBucket();
        return await work(await link.bucket());
      }
    } catch (error) {
      if (signal.aborted) throw error;
      throw natsError(this.name, error, this.#calls.isOpen);
    }
  }

  async #connected(signal: AbortSignal): Promise<NatsLink> {
    for (;;) {
      signal.throwIfAborted();
      const link = await (this.#link ??= this.#connect());
      await link.connected(signal);
      if (!link.isClosed) return link;
      // The client itself has closed it, for reasons of its own.
      if ((await this.#link) === link) this.#link = undefined;
    }
  }

  #connect(): Promise<NatsLink> {
    const connecting = NatsLink.connect(this.#options, this.#settings);
    connecting.catch(() => {
      if (this.#link === connecting) this.#link = undefined;
    });
    return connecting;
  }

  /** Watches the bucket, and restarts whenever the connection or the bucket is lost. */
  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#watchOnce(signal).catch(() => undefined);
      await this.#clock.sleep(AGAIN_MS, signal, { background: true }).catch(() => undefined);
    }
  }

  async #watchOnce(signal: AbortSignal): Promise<void> {
    if (!this.#calls.isOpen) return;
    const link = await this.#connected(signal);
    const broken = new AbortController();
    const stops = [link.onBreak(() => broken.abort(ENDED)), onAbort(signal, () => broken.abort(ENDED))];
    try {
      const bucket = await raceAbort(link.bucket(), broken.signal);
      const updates = await bucket.watch({ headers_only: true });
      stops.push(onAbort(broken.signal, () => updates.stop()));
      // The first updates are the existing records, so nothing is missed while the watch begins.
      for await (const update of updates)
        if (update !== undefined && !broken.signal.aborted) this.#watchers.tell();
    } finally {
      for (const stop of stops) stop();
    }
  }
}

/** The record of an entry, if it has one: a removed record leaves a marker. */
function keptIn(entry: KvEntry | null): { readonly owner: string; readonly record: unknown } | undefined {
  if (entry === null || entry.operation !== 'PUT') return undefined;
  try {
    const { owner, record } = entry.json<{ owner: unknown; record: unknown }>();
    return typeof owner === 'string' ? { owner, record } : undefined;
  } catch {
    return undefined;
  }
}

/** Retries a change when the revision shows that another process has made one at the same time. */
async function change<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isWrongRevision(error)) throw error;
    }
  }
}

function putSlot(bucket: Bucket, slot: string, owner: string, value: string, signal: AbortSignal) {
  return change(async () => {
    const entry = await bucket.get(slot);
    const kept = keptIn(entry);
    if (kept !== undefined && kept.owner !== owner) return false;
    // An entry that is no record of ours does not occupy the slot.
    if (entry === null) await bucket.create(slot, value);
    else await bucket.update(slot, value, entry.revision);
    return true;
  }, signal);
}

function leaveSlot(bucket: Bucket, slot: string, owner: string, signal: AbortSignal): Promise<void> {
  return change(async () => {
    const entry = await bucket.get(slot);
    if (entry === null || keptIn(entry)?.owner !== owner) return;
    await bucket.delete(slot, { previousSeq: entry.revision });
  }, signal);
}

async function allOf(bucket: Bucket, signal: AbortSignal): Promise<RegistryEntry[]> {
  const stream = bucket.bucketName();
  const { state } = await bucket.jsm.streams.info(stream, { subjects_filter: `${bucket.prefix}.>` });
  const slots = Object.keys(state.subjects ?? {}).map((subject) => subject.slice(bucket.prefixLen));
  const entries: RegistryEntry[] = [];
  for (let i = 0; i < slots.length; i += AT_A_TIME) {
    signal.throwIfAborted();
    const some = slots.slice(i, i + AT_A_TIME);
    const found = await Promise.all(some.map(async (slot) => keptIn(await bucket.get(slot))));
    for (const [j, kept] of found.entries()) {
      const slot = some[j];
      if (kept !== undefined && slot !== undefined) entries.push({ slot, ...kept });
    }
  }
  return entries;
}
