import { Hierarchy, type ByteSize, type Clock, type ObjectStat, type StorageDriver } from '@tiered/core';
import { PrefixDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { PlacementHandler } from '@tiered/tiering';

/** The prefix of objects on a tier during its measurement. */
export const PREFIX = 'tiered-calibration/';

/** The parts of a trial hierarchy. Its drivers are open, and stay open. */
export interface TrialOptions {
  readonly source: StorageDriver;
  /** The objects of the source that it knows. */
  readonly objects: readonly ObjectStat[];
  readonly tier?: { readonly driver: StorageDriver; readonly quota: ByteSize };
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs work with a hierarchy like that of users, and leaves nothing behind. The hierarchy knows some objects
 * of the source, and its tier begins empty, under a prefix.
 */
export async function withTrial<T>(
  { source, objects, tier, clock, signal }: TrialOptions,
  work: (hierarchy: Hierarchy) => Promise<T>,
): Promise<T> {
  const part = tier && new OpenPart(tier.driver, PREFIX);
  const hierarchy = new Hierarchy({
    source: new SomeObjects(source, objects),
    ...(tier && part && { tiers: [{ driver: part, quota: tier.quota }], placement: new PlacementHandler() }),
    clock,
  });
  try {
    await hierarchy.open({ signal });
    // A part of a tier keeps no index: nothing is placed until its content has been listed.
    await hierarchy.idle({ signal });
    return await work(hierarchy);
  } finally {
    await hierarchy.close();
    // Without the signal, because placed objects are deleted in any case.
    if (part !== undefined) await empty(part);
  }
}

async function empty(driver: StorageDriver): Promise<void> {
  for await (const page of driver.list({}))
    await Promise.allSettled(page.map(({ key }) => driver.delete(key, {})));
}

/** A source that lists only some of its objects, and is open already. */
export class SomeObjects extends InterceptingDriver {
  readonly #objects: readonly ObjectStat[];

  /** @param inner Is open, and stays open. */
  constructor(inner: StorageDriver, objects: readonly ObjectStat[]) {
    super(inner);
    this.#objects = objects;
  }

  protected intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }

  override async *list(): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    yield this.#objects;
  }

  override open(): Promise<void> {
    return Promise.resolve();
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A part of a tier, which is open already. */
class OpenPart extends PrefixDriver {
  override open(): Promise<void> {
    return Promise.resolve();
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}
