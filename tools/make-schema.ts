/**
 * Makes the JSON Schema of configuration files, and the tables of docs/configuration.md, from the schemas
 * that files are checked with. `npm run schema` writes both; `npm run schema -- --check` ends with exit code
 * 1 if one is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { OptionsSchema } from '@tiered/core/driver';
import { format, resolveConfig } from 'prettier';
import { hierarchySchema, sourceSchema, tierSchema } from '../packages/config/src/check/schema.js';
import { driverNames, loadDriver, loadPlacement } from '../packages/config/src/drivers/modules.js';
import { tablesOf, type JsonSchema } from './config-tables.js';

const root = path.resolve(import.meta.dirname, '..');

function jsonOf(schema: OptionsSchema): JsonSchema {
  const json = schema['~standard'].jsonSchema?.input({ target: 'draft-07' });
  if (json === undefined) throw new Error('A schema of this repository has no JSON Schema.');
  // The file has its own dialect, and the largest safe integer is a bound of the language, not of a field.
  const unwanted = (key: string, value: unknown) =>
    value === Number.MAX_SAFE_INTEGER || (key === '$schema' && typeof value === 'string');
  return JSON.parse(
    JSON.stringify(json, (key, value: unknown) => (unwanted(key, value) ? undefined : value)),
  ) as JsonSchema;
}

/** The drivers of this repository that have a short name, with the schemas of their options. */
async function knownDrivers(): Promise<Record<string, JsonSchema>> {
  const schemas: Record<string, JsonSchema> = {};
  for (const name of driverNames) {
    const { factory, problem } = await loadDriver(name, root);
    if (factory === undefined) console.log(`Without driver ${name}: ${problem}.`);
    else schemas[name] = jsonOf(factory.schema);
  }
  return schemas;
}

/** A level: of a known driver the options are known too, beside another one may stand anything. */
function levelOf(
  about: JsonSchema | undefined,
  own: JsonSchema,
  drivers: Record<string, JsonSchema>,
): JsonSchema {
  const { driver, ...others } = own.properties ?? {};
  const anyOfOurs = Object.fromEntries(Object.keys(own.properties ?? {}).map((key) => [key, {}]));
  return {
    title: about?.title,
    description: about?.description,
    type: 'object',
    properties: { driver: { ...driver, examples: Object.keys(drivers) }, ...others },
    required: own.required,
    allOf: Object.entries(drivers).map(([name, options]) => ({
      if: { properties: { driver: { const: name } }, required: ['driver'] },
      then: { ...options, properties: { ...anyOfOurs, ...options.properties } },
    })),
  };
}

async function make(): Promise<{ schema: JsonSchema; tables: string }> {
  const { factory } = await loadPlacement(root);
  if (factory === undefined) throw new Error('@tiered/tiering cannot be loaded.');
  const drivers = await knownDrivers();
  const [file, source, tier] = [hierarchySchema, sourceSchema, tierSchema].map(jsonOf);
  const fields = file?.properties ?? {};
  const placement = { ...fields['placement'], ...jsonOf(factory.schema) };
  const tierLevel = { title: 'Tier', description: 'A level above the source.' };
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tiered',
    description: 'A hierarchy of @tiered/core: a source, the tiers above it, and what decides about them.',
    ...file,
    properties: {
      ...fields,
      source: levelOf(fields['source'], source ?? {}, drivers),
      tiers: { ...fields['tiers'], items: levelOf(tierLevel, tier ?? {}, drivers) },
      placement,
    },
  };
  const { hedge = {}, ...everyLevel } = source?.properties ?? {};
  const { quota = {}, readDeadlineMs = {}, layout = {} } = tier?.properties ?? {};
  const tables = tablesOf({
    'The file': file ?? {},
    'Every level': { ...source, properties: everyLevel },
    'The source': { properties: { hedge } },
    'Every tier': { properties: { quota, readDeadlineMs, layout }, required: tier?.required },
    ...Object.fromEntries(Object.entries(drivers).map(([name, options]) => [`\`driver: ${name}\``, options])),
    '`placement`': placement,
  });
  return { schema, tables };
}

/** Writes a file, or with `--check` tells whether it would be another one. */
async function update(file: string, text: string): Promise<void> {
  const before = await readFile(path.join(root, file), 'utf8').catch(() => '');
  if (before === text) return;
  if (process.argv.includes('--check')) {
    console.log(`${file} is out of date: npm run schema`);
    process.exitCode = 1;
  } else {
    await writeFile(path.join(root, file), text);
    console.log(`${file} was written.`);
  }
}

const { schema, tables } = await make();
const schemaFile = 'packages/config/schema/tiered.schema.json';
const style = await resolveConfig(path.join(root, schemaFile));
await update(schemaFile, await format(JSON.stringify(schema), { ...style, parser: 'json' }));

const docsFile = 'docs/configuration.md';
const docs = await readFile(path.join(root, docsFile), 'utf8');
const between = /(<!-- fields begin[^>]*-->\n)[\s\S]*(<!-- fields end -->)/;
await update(
  docsFile,
  docs.replace(between, (_, begin: string, end: string) => `${begin}\n${tables}\n${end}`),
);
