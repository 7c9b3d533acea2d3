/*
 * A job that trains on the files of a directory. Answers each line, which is a task as JSON, with what came
 * of it.
 */
import { NatsRegistry } from '@tiered/cluster/nats';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Control } from '@tiered/control';
import { Hierarchy, MemoryDriver, Random, systemClock } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import readline from 'node:readline';
import { keyOf, OBJECTS, SOURCE_NAME } from './cases.js';
import type { JobControl, JobCounts, JobTask, Line } from './job.js';

/** A training that is ahead by less does not wait: timers take a millisecond at least. */
const AHEAD_MS = 2;
/** One that is late by less catches up: so was the timer. */
const CATCHES_UP_MS = 10;
const STAGING = '16MB';

/** What is open, and what it has read. */
class Opened {
  bytes = 0;
  readonly epochSeconds: number[] = [];
  readonly source: MetricsDriver;
  readonly #task: JobTask;
  readonly #control: Control | undefined;
  readonly #hierarchy: Hierarchy;
  /** Of all epochs, so that what is learnt in one is known in the next. */
  readonly #staging: StagingBuffer;
  #prefetcher: Prefetcher | undefined;
  #reading: Promise<void> | undefined;
  #isClosed = false;

  static async open(task: JobTask): Promise<Opened> {
    const control = task.control && (await join(task.job, task.control));
    const source = new MetricsDriver(new FileSystemDriver({ root: task.directory }));
    const bytesPerSecond = task.control?.budget;
    const budget = bytesPerSecond === undefined ? undefined : { bytesPerSecond };
    const hierarchy = await new Hierarchy({
      source: control?.source(source, { name: SOURCE_NAME, budget }) ?? source,
      ...(task.quota > 0 && {
        tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: task.quota }],
        placement: new PlacementHandler({ policy: firstFit }),
      }),
    }).open();
    return new Opened(task, control, source, hierarchy);
  }

  private constructor(
    task: JobTask,
    control: Control | undefined,
    source: MetricsDriver,
    hierarchy: Hierarchy,
  ) {
    this.#task = task;
    this.source = source;
    this.#control = control;
    this.#hierarchy = hierarchy;
    this.#staging = new StagingBuffer({ memory: STAGING, producers: task.producers, autotuner: false });
    control?.followBuffer(this.#staging);
    control?.followTiers(hierarchy);
  }

  begin(): void {
    this.#reading = this.#readAll();
  }

  async finish(): Promise<readonly number[]> {
    await this.#reading;
    return this.epochSeconds;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#prefetcher?.close();
    await this.#reading;
    await this.#hierarchy.close();
    await this.#control?.close();
  }

  async #readAll(): Promise<void> {
    const { epochs } = this.#task;
    const sequences =
      epochs === undefined ? [endless()] : Array.from({ length: epochs }, (_, e) => keysOf(e));
    try {
      for (const keys of sequences) {
        const begun = systemClock.now();
        await this.#read(keys);
        await this.#hierarchy.idle();
        this.epochSeconds.push((systemClock.now() - begun) / 1000);
      }
    } catch (error) {
      if (!this.#isClosed) throw error;
    }
  }

  async #read(keys: Iterable<string>): Promise<void> {
    const bytesPerMs = (this.#task.computeBytesPerSecond ?? Infinity) / 1000;
    let trainedAt = systemClock.now();
    await using prefetcher = new Prefetcher(this.#hierarchy, keys, { staging: this.#staging });
    this.#prefetcher = prefetcher;
    for await (const { data } of prefetcher) {
      this.bytes += data.byteLength;
      trainedAt = Math.max(trainedAt, systemClock.now() - CATCHES_UP_MS) + data.byteLength / bytesPerMs;
      const ahead = trainedAt - systemClock.now();
      if (ahead > AHEAD_MS) await systemClock.sleep(ahead);
    }
  }
}

function join(job: string, { registry, weight }: JobControl): Promise<Control> {
  const place = 'path' in registry ? new SqliteRegistry(registry) : new NatsRegistry(registry);
  return Control.join({ registry: place, job, weight });
}

function keysOf(epoch: number): string[] {
  return Array.from(new Random(process.pid, epoch).permutation(OBJECTS), keyOf);
}

function* endless(): Generator<string> {
  for (let epoch = 0; ; epoch++) yield* keysOf(epoch);
}

function counts(): JobCounts {
  const { user, system } = process.cpuUsage();
  const operations = Object.values(opened?.source.metrics().operations ?? {});
  return {
    atMs: systemClock.now(),
    bytes: opened?.bytes ?? 0,
    cpuMs: (user + system) / 1000,
    requests: operations.reduce((sum, { count }) => sum + count, 0),
    requestMs: operations.reduce((sum, { totalMs }) => sum + totalMs, 0),
  };
}

let opened: Opened | undefined;
for await (const line of readline.createInterface(process.stdin)) {
  const task = JSON.parse(line) as Line;
  let answer: unknown = {};
  if (typeof task === 'object') opened = await Opened.open(task.open);
  else if (task === 'counts') answer = counts();
  else if (opened === undefined) throw new Error('nothing is open');
  else if (task === 'begin') opened.begin();
  else if (task === 'finish') answer = await opened.finish();
  else await opened.close();
  console.log(JSON.stringify(answer));
}
process.exit();
