import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import { raceAbort } from '@tiered/core/internal';
import type { FillParts, FillTask } from './fill-parts.js';
import type { Claim, Copy, CopyContent, PublishOptions, Turn } from '../tier/tier-store.js';

/**
 * A copy in flight to its tier. It is written at once, or in parts to a file that stays open from the first
 * part on.
 */
export class GrowingCopy {
  readonly #claim: Claim;
  readonly #key: string;
  readonly #host: FillParts['host'];
  #writer: Promise<ObjectWriter> | undefined;
  #publishing: Promise<Copy> | undefined;
  #copy: Copy | undefined;

  constructor({ claim, object }: Pick<FillTask, 'claim' | 'object'>, host: FillParts['host']) {
    this.#claim = claim;
    this.#key = object.key;
    this.#host = host;
  }

  /** The copy, once it is published. */
  get published(): Copy | undefined {
    return this.#copy;
  }

  /** Writes and publishes the whole copy. */
  async write(bytes: Uint8Array, content: CopyContent, options: PublishOptions): Promise<void> {
    this.#copy = await this.#claim.write(bytes, content, options);
  }

  /** Writes a part of the copy. */
  async writeAt(bytes: Uint8Array, options: ReadIntoOptions): Promise<void> {
    this.#writer ??= this.#claim.create({ signal: options.signal });
    await (await this.#writer).writeAt(bytes, options);
  }

  /** Publishes the parts. Once begun it runs to its end, even at close, because its outcome must be known. */
  async publish(content: CopyContent, turn: Turn): Promise<void> {
    const writer = await this.#writer;
    if (writer === undefined) return;
    this.#publishing = this.#claim.publish(writer, content, { turn });
    this.#copy = await this.#publishing;
  }

  /**
   * Reads written bytes, published or not, within the deadline of the tier. Returns fewer bytes if the tier
   * cannot serve them all, or does not answer, which counts as a fault of the tier. Abort rejects with
   * `signal.reason`.
   */
  async readInto(target: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<number> {
    const { tier } = this.#claim.store;
    try {
      const read = (under?: AbortSignal) => this.#readInto(target, { offset, signal: under });
      return await tier.within(target.byteLength, signal, read);
    } catch (error) {
      signal?.throwIfAborted();
      this.#host.tierFault(tier, 'readInto', this.#key, error);
      return 0;
    }
  }

  async #readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const { signal } = options;
    const writer = await raceAbort(Promise.resolve(this.#writer), signal);
    const count = (await writer?.readInto(target, options).catch(() => 0)) ?? 0;
    if (count === target.byteLength) return count;
    // Once publishing has begun, a copy cannot be read through its writer any more.
    await raceAbort(
      Promise.resolve(this.#publishing).catch(() => undefined),
      signal,
    );
    if (this.#copy === undefined) return 0;
    const found = await this.#claim.readInto(target, options).catch(() => 0);
    signal?.throwIfAborted();
    return found;
  }

  /** Deletes all unpublished parts. */
  async discard(): Promise<void> {
    if (this.#writer === undefined) return;
    const writer = await this.#writer.catch(() => undefined);
    await writer?.discard();
  }
}
