import type { HomeLocks } from '../driver/driver.js';

/** Locks of numbers in memory, between members whose processes are simulated, or that share this process. */
export class MemoryLocks {
  /** The holders by number. One member may hold it exclusively, or several share it. */
  readonly #holders = new Map<number, { readonly members: Set<string>; isAlone: boolean }>();

  /** The locks from the view of one member. */
  of(member: string): HomeLocks {
    return {
      take: (number) => this.#lock(member, number, true),
      share: (number) => this.#lock(member, number, false),
      release: (number) => this.#release(member, number),
      isTaken: (number) => this.#others(member, number) > 0,
    };
  }

  /** Ends a member, and releases all its numbers. */
  end(member: string): void {
    for (const number of this.#holders.keys()) this.#release(member, number);
  }

  #lock(member: string, number: number, isAlone: boolean): boolean {
    const holder = this.#holders.get(number);
    if (holder !== undefined && this.#others(member, number) > 0 && (isAlone || holder.isAlone)) return false;
    if (holder === undefined) this.#holders.set(number, { members: new Set([member]), isAlone });
    else {
      holder.members.add(member);
      holder.isAlone = isAlone;
    }
    return true;
  }

  #release(member: string, number: number): void {
    const members = this.#holders.get(number)?.members;
    members?.delete(member);
    if (members?.size === 0) this.#holders.delete(number);
  }

  #others(member: string, number: number): number {
    const members = this.#holders.get(number)?.members;
    return members === undefined ? 0 : members.size - (members.has(member) ? 1 : 0);
  }
}
