import { isTieredError, type StorageDriver } from '@tiered/core';
import { loadChecksum, memoryFor, type Checksum } from '@tiered/core/internal';

/** Bytes of the checksum that follows a chunk. */
const SUM = 8;

/** Chunks of objects on a storage that several nodes share. A checksum follows each chunk. */
export class SharedCopies {
  readonly #tier: StorageDriver;
  readonly #checksum: Checksum;

  private constructor(tier: StorageDriver, checksum: Checksum) {
    this.#tier = tier;
    this.#checksum = checksum;
  }

  static async on(tier: StorageDriver): Promise<SharedCopies> {
    return new SharedCopies(tier, await loadChecksum());
  }

  /**
   * Reads chunks, in one batch.
   * @returns The bytes of each chunk; undefined for a chunk that is missing, or whose bytes are wrong. The
   * latter is removed.
   * @param most The most bytes of a chunk.
   * @throws The first fault of the tier.
   */
  async read(
    names: readonly string[],
    most: number,
    signal: AbortSignal | undefined,
  ): Promise<(Uint8Array | undefined)[]> {
    const outcomes = await this.#outcomes(names, most + SUM, signal);
    return Promise.all(
      outcomes.map(async (outcome, at) => {
        if ('found' in outcome) return this.#checked(names[at] ?? '', outcome.found, signal);
        if (isTieredError(outcome.error, 'TIERED_NOT_FOUND')) return undefined;
        throw outcome.error;
      }),
    );
  }

  /** Reads one chunk into memory of its size, which only the tier knows. Several are mostly whole chunks. */
  async #outcomes(
    names: readonly string[],
    length: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly ({ readonly found: Uint8Array } | { readonly error: unknown })[]> {
    const [only = '', ...others] = names;
    if (others.length === 0)
      return this.#tier.read(only, { offset: 0, length, signal }).then(
        (found) => [{ found }],
        (error: unknown) => [{ error }],
      );
    const requests = names.map((key) => ({ key, offset: 0, target: memoryFor(length, key) }));
    const outcomes = await this.#tier.readMany(requests, { signal });
    return outcomes.map((outcome, at) =>
      'error' in outcome
        ? outcome
        : { found: requests[at]?.target.subarray(0, outcome.bytes) ?? new Uint8Array() },
    );
  }

  /** Writes a chunk. An existing copy is replaced by the same bytes. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    const sum = new Uint8Array(BigUint64Array.of(this.#checksum.bytes(bytes)).buffer);
    await this.#tier.write(name, [bytes, sum], { size: bytes.byteLength + SUM });
  }

  async #checked(
    name: string,
    found: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    const end = found.byteLength - SUM;
    const bytes = found.subarray(0, Math.max(0, end));
    const sum = found.slice(Math.max(0, end));
    if (end >= 0 && new BigUint64Array(sum.buffer)[0] === this.#checksum.bytes(bytes)) return bytes;
    await this.#tier.delete(name, { signal });
    return undefined;
  }
}
