import { configError } from '@tiered/core/internal';
import { mersenne } from 'pure-rand/generator/mersenne';

/** The lower 21 of 32 bits: with 32 more they are the 53 of a double. */
const UPPER_BITS = 2 ** 21 - 1;

/** `torch.Generator()` of a CPU after `manual_seed(seed)`: MT19937. */
export class TorchGenerator {
  readonly #engine: { next(): number };

  /** @param seed PyTorch uses its lower 32 bits only, so 2^32 is the same as 0. */
  constructor(seed: number) {
    this.#engine = mersenne(seed);
  }

  /** Draws 32 bits. */
  next(): number {
    return this.#engine.next() >>> 0;
  }

  skip(numbers: number): void {
    for (let i = 0; i < numbers; i++) this.#engine.next();
  }

  /**
   * Draws what `manual_seed` uses of `torch.empty((), dtype=torch.int64).random_()`: the lower half of 64
   * bits. Takes two numbers, of which the upper half is the first.
   */
  nextSeed(): number {
    this.skip(1);
    return this.next();
  }

  /**
   * Draws a double from 0 to 1, without 1, as `uniform_real_distribution<double>(0, 1)` does. Takes two
   * numbers.
   */
  nextUniform(): number {
    const upper = this.next() & UPPER_BITS;
    return (upper * 2 ** 32 + this.next()) * 2 ** -53;
  }
}

/** Rejects an invalid seed. */
export function assertTorchSeed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw configError('seed', 'a whole number from 0 to 2^53 - 1', seed);
}
