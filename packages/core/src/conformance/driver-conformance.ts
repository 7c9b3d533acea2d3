import { InterceptingDriver, type DriverCall } from '../decorators/intercepting-driver.js';
import { PrefixDriver } from '../decorators/prefix-driver.js';
import type { StorageDriver } from '../driver/driver.js';
import { batches } from './batches.js';
import { lifecycle } from './lifecycle.js';
import { listing } from './listing.js';
import { indexes } from './indexes.js';
import { reads } from './reads.js';
import { states } from './states.js';
import type { ConformanceSubject, ConformanceTest } from './subject.js';
import { writers } from './writers.js';
import { writes } from './writes.js';

/** Options of `driverConformance`. */
export interface ConformanceOptions {
  /** Registers a test: `it` of vitest or jest, `test` of node:test. */
  readonly test: (name: string, run: () => Promise<void>) => unknown;
  /** Makes a closed driver on empty storage of its own; called once per test. */
  readonly factory: () => ConformanceSubject | Promise<ConformanceSubject>;
  /**
   * Whether the tests also run on the driver behind a decorator and behind a prefix, which takes three times
   * as long. Default: true, because drivers are used that way. For a driver with several configurations, one
   * of them suffices.
   */
  readonly wrapped?: boolean;
}

/**
 * Registers the tests of the `StorageDriver` contract for a driver: on the driver itself, on the driver
 * behind a decorator and behind a prefix (`wrapped`), and below a `Hierarchy` before, during and after its
 * life. The capabilities that the driver declares select the tests. It must refuse operations that it cannot
 * do.
 *
 * ```ts import { it } from 'vitest'; driverConformance({ test: it, factory: () => ({ driver: new MyDriver()
 * }) }); ```
 */
export function driverConformance({ test, factory, wrapped = true }: ConformanceOptions): void {
  const groups: readonly ConformanceTest[] = [
    ...lifecycle,
    ...reads,
    ...batches,
    ...listing,
    ...writes,
    ...writers,
    ...indexes,
    ...states,
  ];
  for (const [variant, wrap] of wrapped ? VARIANTS : VARIANTS.slice(0, 1)) {
    for (const { name, run } of groups) {
      test(`${variant}${name}`, async () => {
        const subject = await factory();
        try {
          await run(wrap(subject));
        } finally {
          await subject.cleanUp?.();
        }
      });
    }
  }
}

type Wrap = (subject: ConformanceSubject) => ConformanceSubject;

const VARIANTS: readonly (readonly [string, Wrap])[] = [
  ['', (subject) => subject],
  ['decorated: ', (subject) => ({ ...subject, driver: new Passing(subject.driver) })],
  ['with a prefix: ', (subject) => behindPrefix(subject, 'part/')],
];

/** A decorator that adds nothing. */
class Passing extends InterceptingDriver {
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

function behindPrefix(subject: ConformanceSubject, prefix: string): ConformanceSubject {
  const driver: StorageDriver = new PrefixDriver(subject.driver, prefix);
  const { put } = subject;
  return {
    ...subject,
    driver,
    ...(put && { put: (key: string, bytes: Uint8Array) => put(prefix + key, bytes) }),
  };
}
