import { randomUUID } from 'node:crypto';
import {
  isTieredError,
  TieredError,
  type OperationOptions,
  type StorageDriver,
  type Tier,
} from '@tiered/core';
import { tagOf } from '@tiered/core/internal';

/** The object that names the owner of the storage. */
export const MARKER = '.tiered/owner';
/** Maximum bytes of a marker. */
const LONGEST_MARKER = 1024;

/**
 * The marker of the process that uses a storage without an index, such as a bucket: an object with the
 * owner's identity. One process uses the storage at a time. A later process takes it over; the earlier one
 * notices, and lets go. Names of copies are never reused for other content, so if two processes both take
 * themselves for the owner for a moment, that costs room, but no data.
 */
export class Owner {
  readonly #driver: StorageDriver;
  readonly #id = randomUUID();

  private constructor(driver: StorageDriver) {
    this.#driver = driver;
  }

  /**
   * Takes over a storage, if it is empty or was a tier before. Deletes nothing. Copies without a marker also
   * count as a tier: a storage that evicts may have lost the marker.
   * @throws TieredError `TIERED_DIRECTORY_NOT_OURS` if the storage holds something else.
   */
  static async take({ driver }: Tier, options: OperationOptions): Promise<Owner> {
    const owner = new Owner(driver);
    if ((await owner.#marker(options)) === undefined) {
      await assertOnlyCopies(driver, options);
      if (await owner.#writeFirst(options)) return owner;
    }
    await owner.#write(options, false);
    return owner;
  }

  /**
   * Whether this process still owns the storage. Costs a request. If the storage has lost the marker, as one
   * that evicts may, it is written again, unless another process has just done so.
   */
  async isStill(options: OperationOptions): Promise<boolean> {
    const owner = await this.#marker(options);
    if (owner !== undefined) return owner === this.#id;
    // Another call of this process may have written it.
    return (await this.#writeFirst(options)) || (await this.#marker(options)) === this.#id;
  }

  /** Marks a storage without a marker. False if another process has just done so. */
  async #writeFirst(options: OperationOptions): Promise<boolean> {
    try {
      await this.#write(options, true);
      return true;
    } catch (error) {
      if (isTieredError(error, 'TIERED_EXISTS') || isTieredError(error, 'TIERED_UNSUPPORTED')) return false;
      throw error;
    }
  }

  async #write({ signal }: OperationOptions, ifAbsent: boolean): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify({ tiered: 1, owner: this.#id })}\n`);
    await this.#driver.write(MARKER, bytes, { size: bytes.byteLength, ifAbsent, signal });
  }

  /** The owner of the storage; undefined if there is none. */
  async #marker({ signal }: OperationOptions): Promise<string | undefined> {
    try {
      const bytes = await this.#driver.read(MARKER, { offset: 0, length: LONGEST_MARKER, signal });
      const marker = JSON.parse(Buffer.from(bytes).toString()) as { readonly owner?: unknown };
      return String(marker.owner);
    } catch (error) {
      if (isTieredError(error, 'TIERED_NOT_FOUND')) return undefined;
      if (error instanceof SyntaxError) return '';
      throw error;
    }
  }
}

async function assertOnlyCopies(driver: StorageDriver, options: OperationOptions): Promise<void> {
  for await (const page of driver.list(options)) {
    const other = page.find(({ key }) => key !== MARKER && tagOf(key) === undefined);
    if (other !== undefined) throw notOurs(driver, other.key);
  }
}

/** The error for storage with objects that no tier wrote. */
export function notOurs(driver: StorageDriver, key: string): TieredError {
  return new TieredError(
    'TIERED_DIRECTORY_NOT_OURS',
    `${driver.name} holds objects that tiered did not write, such as ${JSON.stringify(key)}; ` +
      'give a tier a bucket or a prefix of its own, because what is in it may be deleted.',
    { driver: driver.name, operation: 'open' },
  );
}
