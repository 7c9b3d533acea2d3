import path from 'node:path';
import type { StorageDriver } from '../driver/driver.js';
import { isTieredError } from '../support/errors.js';
import type { HierarchyEvents, SafeEmitter } from '../hierarchy/events.js';
import { addressOf, formerIdentityOf, identityOf } from '../driver/identity.js';
import { assertReachedOutside } from '../driver/locations.js';
import { loadManifest, saveManifest } from './manifest.js';
import type { MetadataContainer } from './metadata-container.js';

/**
 * The manifest that a hierarchy keeps of its source, if it is configured to. A manifest only saves time. If
 * it cannot be read or written, the event `manifestFailed` reports this, and the source is listed.
 */
export class KeptManifest {
  readonly #path: string;
  readonly #source: StorageDriver;
  readonly #events: SafeEmitter<HierarchyEvents>;

  constructor(file: string, source: StorageDriver, events: SafeEmitter<HierarchyEvents>) {
    this.#path = file;
    this.#source = source;
    this.#events = events;
  }

  /**
   * Loads the saved namespace; undefined if there is no usable one, or most of its objects were removed.
   * @throws TieredError `TIERED_CONFIG_INVALID` for the manifest of another source, which must not be
   * overwritten; and for a path that turns out to be inside the source, now that the source is open and links
   * and mounts are resolved.
   */
  async load(sourceLevel: number, signal: AbortSignal): Promise<MetadataContainer | undefined> {
    await assertReachedOutside('manifest', this.#source, path.dirname(this.#path));
    try {
      const saved = await loadManifest(this.#path, sourceLevel, {
        identity: identityOf(this.#source),
        place: addressOf(this.#source),
        formerly: formerIdentityOf(this.#source),
        signal,
      });
      // Keeps the entries of removed objects from accumulating from start to start.
      return saved.count > 2 * saved.known ? undefined : saved;
    } catch (error) {
      signal.throwIfAborted();
      if (isTieredError(error, 'TIERED_CONFIG_INVALID')) throw error;
      if (!isTieredError(error, 'TIERED_NOT_FOUND')) this.#failed('load', error);
      return undefined;
    }
  }

  async save(namespace: MetadataContainer, signal: AbortSignal): Promise<void> {
    try {
      await saveManifest(namespace, this.#path, { identity: identityOf(this.#source), signal });
    } catch (error) {
      signal.throwIfAborted();
      this.#failed('save', error);
    }
  }

  #failed(operation: 'load' | 'save', error: unknown): void {
    this.#events.emit('manifestFailed', { path: this.#path, operation, error });
  }
}
