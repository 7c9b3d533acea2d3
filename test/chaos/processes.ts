import { Random, systemClock } from '@tiered/core';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Child } from '../processes/child.js';
import { makeDataset } from '../processes/dataset.js';
import { bytesOnDisk } from '../processes/disk.js';
import { hierarchyOf, sourceOf, tierOf, type Place } from '../processes/place.js';
import { programOf } from '../processes/program.js';
import { countFault, noFigures, type Figures } from './figures.js';

const PROCESSES = 3;
const OBJECTS = 60;
const LARGEST = 100_000;
const QUOTA = 3_000_000;
/** A disk with somewhat more room than the quota. */
const DISK = '8m';
/** Whoever says nothing for so long hangs, in milliseconds. */
const PATIENCE_MS = 60_000;

/** Real processes that share a tier, and what is done to them. */
class Processes {
  readonly #place: Place;
  readonly #program: string;
  readonly #random: Random;
  readonly #figures: Figures;
  readonly #children: Child[] = [];
  readonly #isMounted: boolean;

  constructor(place: Place, program: string, random: Random, figures: Figures) {
    this.#place = place;
    this.#program = program;
    this.#random = random;
    this.#figures = figures;
    fs.mkdirSync(tierOf(place));
    this.#isMounted = this.#mount('-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs');
  }

  async begin(number: number): Promise<void> {
    const child = new Child(this.#program, this.#place);
    this.#children[number] = child;
    try {
      await patiently(child.started, 'a start');
    } catch (error) {
      this.#figures.failedStarts += 1;
      throw error;
    }
    child.tell({ ask: 'readForever', seed: this.#random.uint32() });
  }

  async beginAll(): Promise<void> {
    for (let number = 0; number < PROCESSES; number++) await this.begin(number);
  }

  /** One thing is done to them; then all that run go on to read. */
  async step(): Promise<void> {
    const number = this.#random.below(PROCESSES);
    const what = this.#random.below(this.#isMounted ? 6 : 4);
    this.#figures.steps += 1;
    if (what === 0) await this.#kill(number);
    if (what === 1) await this.#stop(number);
    if (what === 2) await this.#flip();
    if (what === 3) this.#sample();
    if (what === 4) await this.#during('full disk', () => this.#fill());
    if (what === 5) await this.#during('read-only disk', () => this.#remount('ro'));
    await this.#allRead(this.#children);
    for (const { said } of this.#children) this.#judge(said.splice(0));
  }

  async end(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
    for (const { said } of this.#children) this.#judge(said.splice(0));
  }

  unmount(): void {
    if (!this.#isMounted) return;
    const tier = tierOf(this.#place);
    // Busy while somebody looks into it: then it goes when nobody does any more.
    if (spawnSync('umount', [tier]).status !== 0) spawnSync('umount', ['-l', tier]);
  }

  async #kill(number: number): Promise<void> {
    this.#figures.kills += 1;
    const killed = this.#children[number];
    await killed?.kill();
    this.#judge(killed?.said.splice(0) ?? []);
    await this.begin(number);
  }

  /** One that is stopped keeps nobody from reading. */
  async #stop(number: number): Promise<void> {
    const stopped = this.#children[number];
    countFault(this.#figures, 'stopped process');
    stopped?.signal('SIGSTOP');
    try {
      await this.#allRead(this.#children.filter((child) => child !== stopped));
    } finally {
      stopped?.signal('SIGCONT');
    }
  }

  /** A bit of each of some copies, while nobody runs: who starts later trusts none unseen. */
  async #flip(): Promise<void> {
    await this.end();
    this.#figures.kills += PROCESSES;
    for (const file of fs.readdirSync(tierOf(this.#place), { recursive: true, withFileTypes: true })) {
      if (!file.isFile() || file.parentPath.includes('.tiered') || this.#random.below(4) > 0) continue;
      const full = path.join(file.parentPath, file.name);
      const bytes = fs.readFileSync(full);
      const at = this.#random.below(Math.max(1, bytes.byteLength));
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      fs.writeFileSync(full, bytes);
      countFault(this.#figures, 'flipped copy');
    }
    await this.beginAll();
  }

  async #during(kind: string, spoil: () => void): Promise<void> {
    countFault(this.#figures, kind);
    spoil();
    try {
      await this.#allRead(this.#children);
    } finally {
      this.#remount('rw');
      fs.rmSync(this.#ballast, { force: true });
    }
  }

  /** At one instant: nobody goes on meanwhile. */
  #sample(): void {
    const bytes = this.#bytesAtOnce();
    if (bytes <= QUOTA) return;
    this.#figures.bytesOverQuota += bytes - QUOTA;
    throw new Error(`over quota: ${bytes} bytes are on the disk, which may hold ${QUOTA}`);
  }

  #bytesAtOnce(): number {
    const stopped: Child[] = [];
    try {
      for (const child of this.#children) {
        child.signal('SIGSTOP');
        stopped.push(child);
      }
      return bytesOnDisk(
        tierOf(this.#place),
        stopped.map(({ pid }) => pid),
      );
    } finally {
      for (const child of stopped) child.signal('SIGCONT');
    }
  }

  #judge(said: Child['said']): void {
    for (const one of said) {
      if (one.say === 'fault') countFault(this.#figures, one.code);
      if (one.say === 'reads') this.#figures.reads += 20;
      if (one.say !== 'wrong') continue;
      this.#figures.wrongBytes += 1;
      throw new Error(`wrong bytes: ${one.key}`);
    }
  }

  async #allRead(children: readonly Child[]): Promise<void> {
    await patiently(Promise.all(children.map((child) => child.hears('reads'))), 'a read');
  }

  get #ballast(): string {
    return path.join(tierOf(this.#place), '.tiered', 'ballast');
  }

  #fill(): void {
    const block = new Uint8Array(4096);
    try {
      for (;;) fs.appendFileSync(this.#ballast, block);
    } catch {
      // Full.
    }
  }

  #remount(how: 'ro' | 'rw'): void {
    if (this.#isMounted) this.#mount('-o', `remount,${how}`);
  }

  #mount(...options: string[]): boolean {
    return spawnSync('mount', [...options, tierOf(this.#place)]).status === 0;
  }
}

/** Ends with an error for what takes so long that it hangs. */
async function patiently<T>(work: Promise<T>, what: string): Promise<T> {
  const given = new AbortController();
  const hung = systemClock.sleep(PATIENCE_MS, given.signal).then(() => {
    throw new Error(`hang: ${what} took more than ${PATIENCE_MS / 1000} s`);
  });
  hung.catch(() => undefined);
  return Promise.race([work, hung]).finally(() => given.abort());
}

/** A start that meets no faults, in this process: every byte is the source's, and the quota holds. */
async function inspect(place: Place, keys: readonly string[], figures: Figures): Promise<void> {
  const { hierarchy } = hierarchyOf(place);
  await hierarchy.open();
  try {
    for (const key of keys) {
      const bytes = await hierarchy.read(key);
      figures.bytesChecked += bytes.byteLength;
      if (Buffer.compare(bytes, fs.readFileSync(path.join(sourceOf(place), key))) !== 0)
        throw new Error(`wrong bytes: ${key}, after all have ended`);
    }
    await hierarchy.idle();
  } finally {
    await hierarchy.close();
  }
  const onDisk = bytesOnDisk(tierOf(place));
  if (onDisk > QUOTA) throw new Error(`over quota: ${onDisk} bytes, after all have ended`);
}

/** Does things to real processes until the time is up, or something was found: then says what. */
export async function runProcesses(options: {
  readonly seed: number;
  readonly ms: number;
  readonly onStep?: (figures: Figures) => void;
}): Promise<{ readonly figures: Figures; readonly error?: string }> {
  const figures = noFigures();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-chaos-'));
  const place: Place = { directory, quota: QUOTA, policy: options.seed % 2 === 0 ? 'lru' : 'firstFit' };
  const keys = makeDataset(place, OBJECTS, LARGEST);
  const program = await programOf('use-tier', path.join(directory, 'program'));
  const processes = new Processes(place, program, new Random(options.seed), figures);
  const until = systemClock.now() + options.ms;
  const found = await errorOf(async () => {
    figures.schedules += 1;
    await processes.beginAll();
    while (systemClock.now() < until) {
      await processes.step();
      options.onStep?.(figures);
    }
    await processes.end();
    await inspect(place, keys, figures);
  });
  // What was found is told also if it is in the way of clearing up.
  const left = await errorOf(() => clearUp(processes, directory));
  const error = found ?? left;
  if (error === undefined) return { figures };
  figures.findings += 1;
  return { figures, error };
}

async function clearUp(processes: Processes, directory: string): Promise<void> {
  try {
    await processes.end();
  } finally {
    processes.unmount();
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** How work failed, if it did. */
async function errorOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return String(error);
  }
}
