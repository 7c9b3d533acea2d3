/** Waits until programs go on. */
export class Progress {
  #waiting: (() => void)[] = [];

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when programs have gone on, or what was on its way has come. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Something has happened that others may wait for, or everything ends. */
  made(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
