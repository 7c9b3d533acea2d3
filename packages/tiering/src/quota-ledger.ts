import { invariant } from '@tiered/core/internal';

interface Account {
  readonly quota: number;
  used: number;
  reserved: number;
}

/** Bytes promised to an object on its way to a tier. Ends once, by `commit` or `cancel`. */
export interface Reservation {
  readonly level: number;
  readonly bytes: number;
  /** The object is on the tier: its bytes count as used. */
  commit(): void;
  /** The object did not come: its bytes are free again. */
  cancel(): void;
}

/**
 * Who may fill how much of which tier. Bytes are reserved before they are fetched, so that used and reserved bytes
 * together never exceed a quota, however many placements are under way.
 */
export class QuotaLedger {
  readonly #accounts: readonly Account[];

  /** @param quotas Bytes of each level, fastest first. */
  constructor(quotas: readonly number[]) {
    this.#accounts = quotas.map((quota) => ({ quota, used: 0, reserved: 0 }));
  }

  usedBytes(level: number): number {
    return this.#account(level).used;
  }

  reservedBytes(level: number): number {
    return this.#account(level).reserved;
  }

  freeBytes(level: number): number {
    const { quota, used, reserved } = this.#account(level);
    return quota - used - reserved;
  }

  /** Promises bytes of a level; undefined if it has not as many left. */
  reserve(level: number, bytes: number): Reservation | undefined {
    invariant(Number.isSafeInteger(bytes) && bytes >= 0, `reservation of ${bytes} bytes`);
    if (bytes > this.freeBytes(level)) return undefined;
    const account = this.#account(level);
    account.reserved += bytes;
    let open = true;
    const end = (used: number) => {
      invariant(open, `a reservation on level ${level} ended twice`);
      open = false;
      account.reserved -= bytes;
      account.used += used;
      this.#check(account, level);
    };
    return { level, bytes, commit: () => end(bytes), cancel: () => end(0) };
  }

  /** A published object has left the level. */
  release(level: number, bytes: number): void {
    const account = this.#account(level);
    account.used -= bytes;
    this.#check(account, level);
  }

  #check({ quota, used, reserved }: Account, level: number): void {
    const sound = used >= 0 && reserved >= 0 && used + reserved <= quota;
    invariant(sound, `level ${level} accounts for ${used} + ${reserved} of ${quota} bytes`);
  }

  #account(level: number): Account {
    const account = this.#accounts[level];
    invariant(account !== undefined, `there is no level ${level}`);
    return account;
  }
}
