import type { Plan } from './plan.js';
import type { Progress } from './progress.js';
import type { Use, Uses } from './uses.js';

/** The parts by which it chooses. */
export interface LeavingParts {
  readonly plan: Plan;
  readonly uses: Uses;
  readonly progress: Progress;
  /** Opens by which the fetch of an object may begin before its own. */
  readonly lead: number;
  /** Whether an object is on its way. */
  readonly isComing: (id: number) => boolean;
  /** Whether the fetch of an object for an open is of use still. */
  readonly isDue: (id: number, at: number) => boolean;
}

/** Chooses which objects go. */
export class Leaving {
  readonly #parts: LeavingParts;

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  /**
   * Chooses as many objects as have to go for the one of an open. Undefined if they cannot go, or need not.
   * @param isEnough Whether these are enough.
   */
  async makeRoom(
    id: number,
    at: number,
    isEnough: (leaving: readonly Use[]) => boolean,
  ): Promise<readonly Use[] | undefined> {
    const { uses } = this.#parts;
    const leaving: Use[] = [];
    // Some may have gone by themselves meanwhile, and others may leave their room.
    const isNeeded = () => !isEnough(leaving.filter((use) => uses.isChosen(use)));
    while (isNeeded()) {
      const use = await this.choose(id, at, isNeeded);
      if (use !== undefined) leaving.push(use);
      else if (isNeeded()) {
        for (const one of leaving) uses.keep(one);
        return undefined;
      }
    }
    return leaving;
  }

  /**
   * Chooses the object that is opened last, to go for the one of an open, and waits until it was opened for
   * the last time before that. If programs go on without opening it, another one is chosen, so that an open
   * that a program leaves out holds up nothing. Undefined if nothing can go, or nothing has to by then.
   * @param isNeeded Whether something has to go, beside that its object was not opened yet.
   */
  async choose(id: number, at: number, isNeeded = () => true): Promise<Use | undefined> {
    const { uses, progress, isDue } = this.#parts;
    const isWanted = () => isDue(id, at) && isNeeded();
    for (;;) {
      const use = uses.choose((one) => this.#rankOf(one, id, at));
      if (use === undefined) return undefined;
      const wasSkipped = this.#isSkipped(use);
      const isWaitedFor = () => !this.#mayGo(use) && (wasSkipped || !this.#isSkipped(use));
      while (isWaitedFor() && isWanted()) await progress.wait();
      if (this.#mayGo(use) && isWanted()) return use;
      uses.keep(use);
      if (!isWanted()) return undefined;
    }
  }

  /**
   * First go those that were opened a while before an open, and last those that were not opened when planned.
   */
  #rankOf(use: Use, id: number, at: number): number | undefined {
    const { isComing, lead } = this.#parts;
    // Two that are on their way must not wait for each other.
    if (isComing(use.id) && isComing(id)) return undefined;
    return (this.#isSkipped(use) ? 2 : 0) + (use.since >= Math.max(0, at - lead) ? 1 : 0);
  }

  #mayGo(use: Use): boolean {
    return this.#isOpened(use) && !this.#parts.isComing(use.id);
  }

  /** Whether an object is opened next only after the cursor. */
  #isOpened({ id, since }: Use): boolean {
    return since < 0 || this.#parts.plan.dueOf(id) > since;
  }

  /** Whether programs have gone on without it. */
  #isSkipped(use: Use): boolean {
    return !this.#isOpened(use) && this.#parts.plan.reached > use.since;
  }
}
