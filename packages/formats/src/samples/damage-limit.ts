import type { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** What to do about damaged records. */
export interface DamageOptions {
  /**
   * `'fail'` throws the first error. `'skip'` leaves damaged records out, as far as `mostDamaged` allows.
   * Default: `'fail'`, because nobody should train on less data than they think.
   */
  readonly onDamage?: 'fail' | 'skip' | undefined;
  /**
   * The most that is skipped, as a part of all: 0.01 for 1 %. One is always allowed. Default: 0.001, enough
   * for some bad blocks but not for a format that was chosen wrongly.
   */
  readonly mostDamaged?: number | undefined;
  /** Called for each damaged record that is skipped. If it throws, that error ends the work. */
  readonly onSkipped?: ((error: TieredError) => void) | undefined;
}

/** Counts damage, and throws where there is more than is allowed. */
export class DamageLimit {
  /** Damaged records that were skipped. */
  skipped = 0;
  /** The latest damage that was skipped. */
  latest: TieredError | undefined;
  readonly #skips: boolean;
  readonly #most: number;
  readonly #onSkipped: DamageOptions['onSkipped'];

  /** @throws TieredError `TIERED_CONFIG_INVALID` */
  constructor({ onDamage = 'fail', mostDamaged = 0.001, onSkipped }: DamageOptions) {
    if (!['fail', 'skip'].includes(onDamage)) throw configError('onDamage', "'fail' or 'skip'", onDamage);
    if (!(mostDamaged >= 0 && mostDamaged <= 1))
      throw configError('mostDamaged', 'a part of all, from 0 to 1', mostDamaged);
    this.#skips = onDamage === 'skip';
    this.#most = mostDamaged;
    this.#onSkipped = onSkipped;
  }

  /** @throws The error, if damage is not skipped. */
  add(error: TieredError): void {
    if (!this.#skips) throw error;
    this.skipped += 1;
    this.latest = error;
    this.#onSkipped?.(error);
  }

  /**
   * Throws the error if more was skipped than is allowed.
   * @param of All records, damaged or not.
   */
  check(of: number, error: TieredError | undefined): void {
    if (error !== undefined && this.skipped > Math.max(1, Math.floor(of * this.#most))) throw error;
  }
}
