import type { StorageDriver } from '@tiered/core';
import {
  HedgeDriver,
  LimitDriver,
  ObjectDriver,
  PrefixDriver,
  RetryDriver,
  ThrottleDriver,
} from '@tiered/core/decorators';
import type { DriverContext, FactoryContext, OptionsSchema } from '@tiered/core/driver';
import { describe, isDriver } from '@tiered/core/internal';
import type { Problems } from '../check/problems.js';
import { loadDriver } from '../drivers/modules.js';
import { parseShare } from '../fields.js';
import { isMapping, partOf, type Mapping, type Path } from '../file/document.js';
import type { LevelConfig, SourceConfig } from '../hierarchy-config.js';
import { runFactory } from './factories.js';

/** Fields of a level besides the options of its driver. */
type LevelFields = Pick<LevelConfig, 'prefix' | 'retry' | 'limit' | 'throttle'> &
  Pick<SourceConfig, 'object' | 'hedge'>;

/** The schema of a mapping, and the keys that the mapping may have. */
interface FieldsSchema<Fields> extends OptionsSchema<Fields> {
  readonly shape: Mapping;
}

/** A level with its driver. */
export interface Level<Fields> {
  readonly driver: StorageDriver;
  /** The driver without decorators. */
  readonly storage: StorageDriver;
  readonly fields: Fields;
  /** The name of the driver in the configuration. */
  readonly driverName: string;
  /** Returns the total bytes of the storage. Undefined for storage without a known size. */
  readonly capacityBytes: (() => Promise<number>) | undefined;
}

/**
 * Makes the driver of a level with its decorators. Undefined if there are problems, which are added to
 * `problems`.
 */
export async function levelOf<Fields extends LevelFields>(
  problems: Problems,
  where: Path,
  given: unknown,
  schema: FieldsSchema<Fields>,
  context: DriverContext,
): Promise<Level<Fields> | undefined> {
  // The check of the whole configuration reports anything else.
  if (!isMapping(given)) return undefined;
  const own = Object.keys(schema.shape);
  const fields = await problems.check(
    where,
    schema,
    partOf(given, (key) => own.includes(key)),
  );
  const { driver: name } = given;
  if (typeof name !== 'string' || name === '') return undefined;
  const { factory, problem, cause } = await loadDriver(name, context.baseDirectory);
  if (factory === undefined) {
    const field = [...where, 'driver'];
    // The problem may quote only part of the name, which would not be recognised as the value of a variable.
    problems.add(field, problems.fromVariable(field) ? 'this driver cannot be loaded' : problem, cause);
    return undefined;
  }
  const isShare = context.role === 'tier' && parseShare(given['quota']) !== undefined;
  if (isShare && factory.capacityBytes === undefined)
    problems.add([...where, 'quota'], 'a share needs storage that knows its size; give bytes such as 200GiB');
  const rest = partOf(given, (key) => !own.includes(key));
  const options = await problems.check(where, factory.schema, rest, own);
  if (fields === undefined || options === undefined) return undefined;
  const made = runFactory<{ readonly driver: unknown }>(problems, where, given, () => ({
    driver: factory.create(options.value, context),
  }));
  if (made === undefined) return undefined;
  const { driver: inner } = made;
  if (!isDriver(inner)) {
    problems.add([...where, 'driver'], noDriver(name, inner));
    return undefined;
  }
  const driver = runFactory(problems, where, given, () => decorated(inner, fields.value, context));
  const capacityBytes = factory.capacityBytes?.bind(factory, options.value, context);
  return driver && { driver, storage: inner, fields: fields.value, driverName: name, capacityBytes };
}

/** Describes the problem of a module whose factory makes no driver. */
function noDriver(name: string, made: unknown): string {
  const isPromise = made instanceof Promise;
  // This promise is never awaited, so its rejection must not end the process.
  if (isPromise) made.catch(() => undefined);
  return `create of the driverFactory of ${name} must return a StorageDriver, got ${isPromise ? 'a promise' : describe(made)}`;
}

/**
 * Wraps a driver in its decorators, the innermost first. The limit and the retries are outside the hedged
 * reads, so that a wait for a slot, or a pause, does not look like a late read. The retries are outside the
 * limit, so that their pauses hold no slot.
 */
function decorated(
  inner: StorageDriver,
  { prefix, object, throttle, hedge, limit, retry }: LevelFields,
  { clock }: FactoryContext,
): StorageDriver {
  let driver = inner;
  if (prefix !== undefined) driver = new PrefixDriver(driver, prefix);
  if (object !== undefined) driver = new ObjectDriver(driver, object);
  if (throttle !== undefined) driver = new ThrottleDriver(driver, { ...throttle, clock });
  if (hedge !== undefined) driver = new HedgeDriver(driver, { ...hedge, clock });
  if (limit !== undefined) driver = new LimitDriver(driver, limit);
  if (retry !== undefined) driver = new RetryDriver(driver, { ...retry, clock });
  return driver;
}
