import { systemClock } from '@tiered/core';
import { OBJECT_BYTES, OBJECTS, type Case, type JobOf, type Sharing } from './cases.js';
import type { Job, JobCounts, JobRegistry } from './job.js';

/** The machines of a run: one, or several. */
export interface Machine {
  /** Where the jobs of a run meet, which has this number. */
  readonly registry: (run: number) => JobRegistry;
  /** Where the source is mounted. */
  readonly mount: string;
  /** As many as the largest case needs, at least. */
  readonly jobs: readonly Job[];
}

/** What the jobs did until some moment. */
export type Moment = readonly JobCounts[];

/** Milliseconds between two looks at the jobs. */
const EVERY_MS = 250;

let run = 0;

/** Opens the jobs of a case, and has all begin but the guest. */
export async function begin(
  { registry: registryOf, mount, jobs }: Machine,
  { jobs: all }: Case,
  sharing: Sharing,
  training: { readonly epochs?: number; readonly quota?: number } = {},
): Promise<Running> {
  const registry = registryOf(run++);
  const open = async (job: Job, of: JobOf, number: number) => {
    const { producers, weight = 1, computeBytesPerSecond = null } = of;
    await job.open({
      ...{ job: `job-${number}`, directory: mount, producers, computeBytesPerSecond, quota: 0, ...training },
      control: sharing && { ...sharing, registry, weight },
    });
  };
  const running = new Running(jobs, open);
  await Promise.all(all.map((of, number) => running.open(of, number)));
  await Promise.all(all.map((_, number) => running.start(number)));
  return running;
}

/** Jobs that read. */
class Running {
  readonly #jobs: readonly Job[];
  readonly #open: (job: Job, of: JobOf, number: number) => Promise<void>;
  readonly #opened: Job[] = [];

  constructor(jobs: readonly Job[], open: (job: Job, of: JobOf, number: number) => Promise<void>) {
    this.#jobs = jobs;
    this.#open = open;
  }

  async open(of: JobOf, number: number): Promise<void> {
    const job = this.#jobs[number];
    if (job === undefined) throw new Error('there are fewer processes than jobs');
    await this.#open(job, of, number);
    this.#opened[number] = job;
  }

  async start(number: number): Promise<void> {
    await this.#opened[number]?.begin();
  }

  /** The last job leaves. */
  async closeLast(): Promise<void> {
    await this.#opened.pop()?.close();
  }

  /** All leave. */
  async end(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((job) => job.close()));
  }

  /** Jobs leave when they have read all of their epochs. Resolves to the seconds of each epoch, by job. */
  finish(): Promise<(readonly number[])[]> {
    return Promise.all(
      this.#opened.splice(0).map(async (job) => {
        const seconds = await job.finish();
        await job.close();
        return seconds;
      }),
    );
  }

  counts(): Promise<Moment> {
    return Promise.all(this.#opened.map((job) => job.counts()));
  }

  /** Looks at the jobs for a while: at its beginning, four times a second, and at its end. */
  async watch(seconds: number): Promise<Moment[]> {
    const end = systemClock.now() + seconds * 1000;
    const moments = [await this.counts()];
    for (let left = end - systemClock.now(); left > 0; left = end - systemClock.now()) {
      await systemClock.sleep(Math.min(EVERY_MS, left));
      moments.push(await this.counts());
    }
    return moments;
  }
}

/** What jobs did in a while. */
interface Seen {
  /** Bytes a second of each. */
  readonly rates: readonly number[];
  /** Milliseconds of processor time in a second, of each. */
  readonly cpuMs: readonly number[];
  /** Milliseconds of a request at the source, on average, of each. */
  readonly requestMs: readonly number[];
  /** Requests of all that were under way at the source, on average. */
  readonly underWay: number;
}

/** What the jobs did between two moments. */
export function between(before: Moment, after: Moment): Seen {
  const rate = (of: (counts: JobCounts) => number) =>
    after.map((now, at) => {
      const then = before[at] ?? now;
      return (of(now) - of(then)) / ((now.atMs - then.atMs) / 1000);
    });
  const [requests, requestMs] = [rate((counts) => counts.requests), rate((counts) => counts.requestMs)];
  return {
    rates: rate(({ bytes }) => bytes),
    cpuMs: rate(({ cpuMs }) => cpuMs),
    requestMs: requestMs.map((ms, at) => ms / (requests[at] ?? NaN)),
    underWay: requestMs.reduce((sum, ms) => sum + ms, 0) / 1000,
  };
}

/** Jobs from their beginning on, and what they did when they had settled. */
export interface Settled extends Seen {
  readonly moments: readonly Moment[];
}

/** Has the jobs of a case read, and looks at them when they have done so for `before` seconds. */
export async function steady(
  machine: Machine,
  one: Case,
  sharing: Sharing,
  { before, seconds }: { readonly before: number; readonly seconds: number },
): Promise<Settled> {
  const running = await begin(machine, one, sharing);
  const first = await running.watch(before);
  const then = await running.watch(seconds);
  await running.end();
  return { ...between(then[0] ?? [], then.at(-1) ?? []), moments: [...first, ...then] };
}

/** What was seen of jobs before, with and after a guest. */
export interface Visit {
  readonly without: Moment[];
  readonly withGuest: Moment[];
  readonly after: Moment[];
}

/** Has a guest come and leave. */
export async function visit(
  machine: Machine,
  { jobs, guest, name }: Case,
  sharing: Sharing,
  { before, seconds }: { readonly before: number; readonly seconds: number },
): Promise<Visit> {
  if (guest === undefined) throw new Error(`${name}: no guest`);
  const running = await begin(machine, { name, jobs }, sharing);
  await systemClock.sleep(before * 1000);
  const without = await running.watch(1);
  await running.open(guest, jobs.length);
  await running.start(jobs.length);
  const withGuest = await running.watch(seconds);
  await running.closeLast();
  const after = await running.watch(seconds);
  await running.end();
  return { without, withGuest, after };
}

/** Seconds of each epoch of each job, if all have RAM for half of the data. */
export async function ending(machine: Machine, one: Case, sharing: Sharing): Promise<(readonly number[])[]> {
  const running = await begin(machine, one, sharing, { epochs: 2, quota: (OBJECTS * OBJECT_BYTES) / 2 });
  return running.finish();
}
