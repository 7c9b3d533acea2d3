import { ManualClock } from '@tiered/core/testing';
import type { FileSystemDriver } from '@tiered/node-fs-adapter';
import type { Worker } from 'node:worker_threads';

/** A clock by which everything takes its time. */
export class TickingClock extends ManualClock {
  override now(): number {
    this.pass(10);
    return super.now();
  }
}

/**
 * Reads, of a source that is slow by its clock, until a worker thread runs, which makes the calls of reads from then on. Nothing is
 * done where a driver has no such threads.
 */
export async function startWorker(driver: FileSystemDriver): Promise<void> {
  if (driver.capabilities.threads !== 'workers') return;
  let isOnline = false;
  const listen = (worker: Worker) => worker.once('online', () => (isOnline = true));
  process.on('worker', listen);
  const read = () => driver.read('none', { offset: 0, length: 1 });
  while (!isOnline) await Promise.allSettled(Array.from({ length: 16 }, read));
  process.off('worker', listen);
}
