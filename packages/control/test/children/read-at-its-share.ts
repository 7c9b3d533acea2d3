import { SqliteRegistry } from '@tiered/cluster/registry';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Control } from '../../src/index.js';

/** What the process is told when it begins. */
export interface ReadingJob {
  readonly registry: string;
  readonly directory: string;
  readonly key: string;
  readonly bytes: number;
  readonly job: string;
  readonly weight: number;
  readonly bytesPerSecond: number;
}

/** What the process says each time that shares were decided. */
export interface ReadingSaid {
  /** Bytes a second that may pass. */
  readonly share: number;
  readonly stages: number;
  /** Reads that came to their end, and those that failed or gave something else. */
  readonly reads: number;
  readonly wrong: number;
}

// Reads one file again and again, as fast as its share lets it.
const told = JSON.parse(process.argv[2] ?? '') as ReadingJob;
const { job, weight, key, bytes, bytesPerSecond } = told;
const control = await Control.join({ registry: new SqliteRegistry({ path: told.registry }), job, weight });
const driver = control.source(new FileSystemDriver({ root: told.directory }), {
  name: 'source',
  budget: { bytesPerSecond },
});
await driver.open({});
let [reads, wrong] = [0, 0];
control.on('decided', ({ seen }) => {
  const said: ReadingSaid = {
    share: control.shares().sources['source']?.bytes ?? NaN,
    stages: seen.stages.length,
    reads,
    wrong,
  };
  process.send?.(said);
});
process.on('disconnect', () => process.exit());
process.on('message', () => void end());
let isEnded = false;
const reading = Promise.all([1, 2, 3, 4].map(() => readOn()));

async function readOn(): Promise<void> {
  while (!isEnded) {
    try {
      const read = await driver.read(key, { offset: 0, length: bytes });
      reads += 1;
      if (read.byteLength !== bytes || read[0] !== 7 || read[bytes - 1] !== 7) wrong += 1;
    } catch {
      wrong += 1;
    }
  }
}

async function end(): Promise<void> {
  isEnded = true;
  await control.close();
  await reading;
  await driver.close();
  process.disconnect();
}
