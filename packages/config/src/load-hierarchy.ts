import {
  Hierarchy,
  isTieredError,
  systemClock,
  TieredError,
  type HierarchyOptions,
  type StorageDriver,
} from '@tiered/core';
import { HedgeDriver, LimitDriver, PrefixDriver, RetryDriver, ThrottleDriver } from '@tiered/core/decorators';
import type { DriverContext, FactoryContext, OptionsSchema } from '@tiered/core/driver';
import type { Placement } from '@tiered/core/placement';
import { describe, invariant, isDriver } from '@tiered/core/internal';
import path from 'node:path';
import { Problems } from './check/problems.js';
import { hierarchySchema, sourceSchema, tierSchema } from './check/schema.js';
import { loadDriver, loadPlacement } from './drivers/modules.js';
import { located, readDocument, type ConfigDocument, type Path } from './file/document.js';
import { expandVariables } from './file/environment.js';
import type { HierarchyConfig, LevelConfig, LoadOptions, SourceConfig } from './hierarchy-config.js';

type Mapping = Readonly<Record<string, unknown>>;

/** Fields of a level beside the options of its driver. */
type LevelFields = Pick<LevelConfig, 'prefix' | 'retry' | 'limit' | 'throttle'> & Pick<SourceConfig, 'hedge'>;

/** The schema of a mapping, and the keys that the mapping may have. */
interface FieldsSchema<Fields> extends OptionsSchema<Fields> {
  readonly shape: Mapping;
}

/**
 * Makes a hierarchy from a configuration, without starting it. The configuration is the path of a `.yaml`,
 * `.yml` or `.json` file, or what such a file would hold. The packages that it names are loaded, so it must
 * be trusted like code.
 * @throws TieredError `TIERED_CONFIG_INVALID` that lists everything that is wrong: each problem with its
 * field and, if it is in a file, its line. Messages about a field show the name of an environment variable,
 * never its value.
 */
export async function loadHierarchy(
  config: string | URL | HierarchyConfig,
  options: LoadOptions = {},
): Promise<Hierarchy> {
  return load(config, options, (made) => new Hierarchy(made));
}

/**
 * Returns the options that `loadHierarchy` would make a hierarchy from. Use it to add what a file cannot
 * hold, such as a `model`. The drivers are made, but not opened.
 * @throws As `loadHierarchy`, except for what only the hierarchy finds, such as levels that share storage.
 */
export async function loadHierarchyOptions(
  config: string | URL | HierarchyConfig,
  options: LoadOptions = {},
): Promise<HierarchyOptions> {
  return load(config, options, (made) => made);
}

/** @param make Makes the result from the options. What it refuses is reported with the name of the file. */
async function load<Made>(
  config: string | URL | HierarchyConfig,
  { clock = systemClock, baseDirectory = '.', env = process.env, warn }: LoadOptions,
  make: (options: HierarchyOptions) => Made,
): Promise<Made> {
  const document = isFile(config) ? await readDocument(config) : documentOf(config, baseDirectory);
  const { value, variables, problems: unset } = expandVariables(document.value, env);
  const problems = new Problems(document, variables);
  for (const problem of unset) problems.add(problem.path, problem.message);
  const checked = await problems.check([], hierarchySchema, value);

  const context = { baseDirectory: document.baseDirectory, clock };
  const given: Mapping = isMapping(value) ? value : {};
  const { source, tiers, placement } = given;
  const sourceContext = { ...context, role: 'source' } as const;
  const sourceLevel = await levelOf(problems, ['source'], source, sourceSchema, sourceContext);
  const tierOptions = [];
  const tierList: readonly unknown[] = Array.isArray(tiers) ? tiers : [];
  for (const [index, tier] of tierList.entries()) {
    const level = await levelOf(problems, ['tiers', index], tier, tierSchema, { ...context, role: 'tier' });
    if (level === undefined) continue;
    const { quota, readDeadlineMs, layout } = level.fields;
    tierOptions.push({ driver: level.driver, quota, readDeadlineMs, layout });
  }
  const needed = placement !== undefined || tierList.length > 0;
  const placementOption = needed ? await placementOf(problems, placement ?? {}, context) : undefined;
  problems.throwIfAny();

  invariant(checked !== undefined && sourceLevel !== undefined, 'a wrong configuration has no problem');
  const { scan, versions, manifest } = checked.value;
  const made = {
    source: sourceLevel.driver,
    tiers: tierOptions,
    placement: placementOption,
    ...(manifest !== undefined && { manifest: path.resolve(document.baseDirectory, manifest) }),
  };
  try {
    return make({ ...made, scan, versions, clock, warn });
  } catch (error) {
    throw inFile(document.name, problems, error);
  }
}

function isFile(config: string | URL | HierarchyConfig): config is string | URL {
  return typeof config === 'string' || config instanceof URL;
}

function documentOf(value: HierarchyConfig, baseDirectory: string): ConfigDocument {
  return {
    name: undefined,
    value,
    baseDirectory: path.resolve(baseDirectory),
    positionOf: () => undefined,
  };
}

/**
 * Makes the driver of a level with its decorators. Undefined if anything is wrong, which is then added to the
 * problems.
 */
async function levelOf<Fields extends LevelFields>(
  problems: Problems,
  where: Path,
  given: unknown,
  schema: FieldsSchema<Fields>,
  context: DriverContext,
): Promise<{ readonly driver: StorageDriver; readonly fields: Fields } | undefined> {
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
    // The problem may quote only a part of the name, which would not be recognised as the value of a
    // variable.
    problems.add(field, problems.fromVariable(field) ? 'this driver cannot be loaded' : problem, cause);
    return undefined;
  }
  const rest = partOf(given, (key) => !own.includes(key));
  const options = await problems.check(where, factory.schema, rest, own);
  if (fields === undefined || options === undefined) return undefined;
  const made = madeOf<{ readonly driver: unknown }>(problems, where, given, () => ({
    driver: factory.create(options.value, context),
  }));
  if (made === undefined) return undefined;
  const { driver: inner } = made;
  if (!isDriver(inner)) {
    problems.add([...where, 'driver'], noDriver(name, inner));
    return undefined;
  }
  const driver = madeOf(problems, where, given, () => decorated(inner, fields.value, context));
  return driver && { driver, fields: fields.value };
}

/** Says what is wrong with a module whose factory makes something else. */
function noDriver(name: string, made: unknown): string {
  const isPromise = made instanceof Promise;
  // Nobody awaits this promise, so if it rejects that must not end the process.
  if (isPromise) made.catch(() => undefined);
  return `create of the driverFactory of ${name} must return a StorageDriver, got ${isPromise ? 'a promise' : describe(made)}`;
}

async function placementOf(
  problems: Problems,
  given: unknown,
  context: FactoryContext,
): Promise<Placement | undefined> {
  const where = ['placement'];
  const { factory, problem, cause } = await loadPlacement(context.baseDirectory);
  if (factory === undefined) {
    problems.add(where, problem, cause);
    return undefined;
  }
  const options = await problems.check(where, factory.schema, given);
  return options && madeOf(problems, where, given, () => factory.create(options.value, context));
}

/**
 * Returns what a factory makes. What it throws becomes a problem of the option that the message begins with,
 * or else of all options.
 */
function madeOf<Made>(problems: Problems, where: Path, given: unknown, make: () => Made): Made | undefined {
  try {
    const made = make();
    if (typeof made === 'object' && made !== null) return made;
    throw new Error('the factory made nothing of these options');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [field = ''] = message.split(': ', 1);
    if (!isTieredError(error, 'TIERED_CONFIG_INVALID') || !isMapping(given) || !Object.hasOwn(given, field))
      problems.add(where, message, error);
    else problems.add([...where, field], message.slice(field.length + 2), error, where);
    return undefined;
  }
}

/**
 * Puts the decorators around a driver, the innermost first. The limit and the retries come outside the hedged
 * reads, so that waiting for a slot, or a pause, does not look like a late read. The retries come outside the
 * limit, so that their pauses hold no slot.
 */
function decorated(
  inner: StorageDriver,
  { prefix, throttle, hedge, limit, retry }: LevelFields,
  { clock }: FactoryContext,
): StorageDriver {
  let driver = inner;
  if (prefix !== undefined) driver = new PrefixDriver(driver, prefix);
  if (throttle !== undefined) driver = new ThrottleDriver(driver, { ...throttle, clock });
  if (hedge !== undefined) driver = new HedgeDriver(driver, { ...hedge, clock });
  if (limit !== undefined) driver = new LimitDriver(driver, limit);
  if (retry !== undefined) driver = new RetryDriver(driver, { ...retry, clock });
  return driver;
}

/** Adds the file's name to what the hierarchy itself refuses. */
function inFile(name: string | undefined, problems: Problems, error: unknown): unknown {
  if (!isTieredError(error, 'TIERED_CONFIG_INVALID')) return error;
  const message = problems.withoutValue(error.message);
  return new TieredError(error.code, name === undefined ? message : located(name, undefined, message), {
    cause: message === error.message ? error.cause : undefined,
  });
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function partOf(mapping: Mapping, keep: (key: string) => boolean): Mapping {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => keep(key)));
}
