import { configError, invariant } from './errors.js';

/**
 * The PRNG of the SDK: **xoshiro128\*\* 1.1** (Blackman and Vigna, 2018), with its four 32-bit words of state
 * taken from **SplitMix64** (Steele, Lea and Flood, 2014). The stream of a (seed, stream) pair is stable
 * forever: shuffles, jitter and injected faults depend on it, and last year's checkpoints must resume next
 * year.
 */
export class Random {
  readonly #generator: Xoshiro128;

  /**
   * @param seed Whole number from 0 to 2^53 - 1.
   * @param stream Whole number that separates independent streams of one seed, such as the epoch. Default: 0.
   * @throws TieredError `TIERED_CONFIG_INVALID` for anything else.
   */
  constructor(seed: number, stream = 0) {
    for (const [field, value] of [['seed', seed] as const, ['stream', stream] as const]) {
      if (!Number.isSafeInteger(value) || value < 0)
        throw configError(field, 'a whole number from 0 to 2^53 - 1', value);
    }
    const [base = 0n] = splitMix64(BigInt(seed), 1);
    const [a = 0n, b = 0n] = splitMix64(base + BigInt(stream), 2);
    const word = (bits: bigint) => Number(BigInt.asIntN(32, bits));
    this.#generator = new Xoshiro128(word(a), word(a >> 32n), word(b), word(b >> 32n));
  }

  /** Returns the next whole number from 0 to 2^32 - 1, uniform. */
  uint32(): number {
    return this.#generator.next();
  }

  /**
   * Returns a whole number from 0 to `bound` - 1, uniform without bias. Bits above the bound are masked off,
   * and numbers that are still too large are drawn again: fewer than two draws on average.
   * @param bound A whole number from 1 to 2^32.
   */
  below(bound: number): number {
    invariant(bound >= 1 && bound <= 2 ** 32, 'Random.below() needs a bound from 1 to 2^32');
    const mask = bound <= 1 ? 0 : 0xffffffff >>> Math.clz32(bound - 1);
    for (;;) {
      const value = (this.uint32() & mask) >>> 0;
      if (value < bound) return value;
    }
  }

  /** Returns a number from 0 (included) to 1 (excluded), uniform, with 32 bits. */
  unit(): number {
    return this.uint32() / 2 ** 32;
  }

  /**
   * Draws from the standard normal distribution, using two uniform numbers (Box and Muller). The second
   * number of each normal pair is discarded.
   */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.unit())) * Math.cos(2 * Math.PI * this.unit());
  }

  /**
   * Returns a permutation of 0 .. n-1 by Fisher and Yates (from the end down). O(n) time, 4n bytes.
   * @param n From 0 to 2^32 - 1.
   */
  permutation(n: number): Uint32Array {
    const order = new Uint32Array(n);
    for (let i = 0; i < n; i++) order[i] = i;
    // Drawn in blocks and then swapped, so that the cache misses of many swaps overlap in the processor.
    const drawn = new Uint32Array(BLOCK);
    for (let last = n - 1; last > 0;) {
      const count = this.#generator.drawFalling(last, drawn);
      for (let k = 0; k < count; k++) {
        const i = last - k;
        const j = drawn[k] ?? 0;
        const swapped = order[i] ?? 0;
        order[i] = order[j] ?? 0;
        order[j] = swapped;
      }
      last -= count;
    }
    return order;
  }
}

/** Numbers drawn per block of a permutation. They fit into the processor's nearest cache. */
const BLOCK = 1024;

/**
 * The generator alone, from four words of state. It is a separate class so that its reference vectors can be
 * checked.
 */
export class Xoshiro128 {
  #s0: number;
  #s1: number;
  #s2: number;
  #s3: number;

  constructor(s0: number, s1: number, s2: number, s3: number) {
    this.#s0 = s0;
    this.#s1 = s1;
    this.#s2 = s2;
    this.#s3 = s3;
  }

  /** The next whole number from 0 to 2^32 - 1. */
  next(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#s1, 5), 7), 9) >>> 0;
    const shifted = this.#s1 << 9;
    this.#s2 ^= this.#s0;
    this.#s3 ^= this.#s1;
    this.#s1 ^= this.#s2;
    this.#s0 ^= this.#s3;
    this.#s2 ^= shifted;
    this.#s3 = rotateLeft(this.#s3, 11);
    return result;
  }

  /**
   * Draws the numbers that `Random.below(last + 1)`, `below(last)`, ... would return, as many as have the
   * same mask and fit. A number that is too large is overwritten by the next. This avoids a branch, which the
   * processor would mispredict every third time.
   * @param last From 1 to 2^32 - 2.
   * @param drawn The memory for the numbers.
   * @returns How many were drawn.
   */
  drawFalling(last: number, drawn: Uint32Array): number {
    const mask = 0xffffffff >>> Math.clz32(last);
    const count = Math.min(drawn.length, last - (mask >>> 1));
    let [s0, s1, s2, s3] = [this.#s0, this.#s1, this.#s2, this.#s3];
    for (let k = 0; k < count;) {
      const value = (Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9) & mask) >>> 0;
      const shifted = s1 << 9;
      s2 ^= s0;
      s3 ^= s1;
      s1 ^= s2;
      s0 ^= s3;
      s2 ^= shifted;
      s3 = rotateLeft(s3, 11);
      drawn[k] = value;
      k += value <= last - k ? 1 : 0;
    }
    [this.#s0, this.#s1, this.#s2, this.#s3] = [s0, s1, s2, s3];
    return count;
  }
}

/** The first `count` outputs of SplitMix64 from a 64-bit seed. Exported for its reference vectors only. */
export function splitMix64(seed: bigint, count: number): bigint[] {
  const out: bigint[] = [];
  let state = BigInt.asUintN(64, seed);
  for (let i = 0; i < count; i++) {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    out.push(z ^ (z >> 31n));
  }
  return out;
}

function rotateLeft(x: number, k: number): number {
  return (x << k) | (x >>> (32 - k));
}
