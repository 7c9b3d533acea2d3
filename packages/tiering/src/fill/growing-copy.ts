import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import type { Claim, Copy, CopyContent, PublishOptions, Turn } from '../tier/tier-store.js';

/**
 * A copy on its way to its tier. It comes part by part, into a file that is open from the first part on, or
 * all at once.
 */
export class GrowingCopy {
  readonly #claim: Claim;
  #writer: Promise<ObjectWriter> | undefined;
  #publishing: Promise<Copy> | undefined;
  #copy: Copy | undefined;

  constructor(claim: Claim) {
    this.#claim = claim;
  }

  /** The copy, once it is published. */
  get published(): Copy | undefined {
    return this.#copy;
  }

  /** Writes all of the copy, and publishes it. */
  async write(bytes: Uint8Array, content: CopyContent, options: PublishOptions): Promise<void> {
    this.#copy = await this.#claim.write(bytes, content, options);
  }

  /** Writes a part of the copy. */
  async writeAt(bytes: Uint8Array, options: ReadIntoOptions): Promise<void> {
    this.#writer ??= this.#claim.create({ signal: options.signal });
    await (await this.#writer).writeAt(bytes, options);
  }

  /**
   * Publishes the parts. Once begun it runs to its end, also at close: whether the copy is there must be
   * known.
   */
  async publish(content: CopyContent, turn: Turn): Promise<void> {
    const writer = await this.#writer;
    if (writer === undefined) return;
    this.#publishing = this.#claim.publish(writer, content, { turn });
    this.#copy = await this.#publishing;
  }

  /** Reads what was written, published or not. Returns fewer bytes if the tier cannot give them all. */
  async readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const writer = await this.#writer;
    const count = (await writer?.readInto(target, options).catch(() => 0)) ?? 0;
    if (count === target.byteLength) return count;
    // While a copy is being published, it cannot be read through its writer any more.
    await this.#publishing?.catch(() => undefined);
    return this.#copy === undefined ? 0 : this.#claim.readInto(target, options).catch(() => 0);
  }

  /** Deletes everything that was not published. */
  async discard(): Promise<void> {
    if (this.#writer === undefined) return;
    const writer = await this.#writer.catch(() => undefined);
    await writer?.discard();
  }
}
