import { parseShare } from '@tiered/config/fields';
import { isTieredError, parseBytes } from '@tiered/core';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { driverPath } from '../packages/config/test/helpers.js';
import { MISTAKES } from './config-mistakes.js';
import { someConfig } from './config-samples.js';
import { blocks, documents } from './documents.js';

interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const root = path.join(import.meta.dirname, '..');
const file = fileURLToPath(import.meta.resolve('@tiered/config/schema.json'));
const schema = JSON.parse(fs.readFileSync(file, 'utf8')) as Schema;
const validate = new Ajv({ allErrors: true }).compile(schema);

/** Every schema in a schema that describes a field, by its place. */
function fieldsIn(part: unknown, place = ''): [string, Schema][] {
  if (typeof part !== 'object' || part === null) return [];
  const { properties = {} } = part as Schema;
  const own = Object.entries(properties).map(([name, field]): [string, Schema] => [
    `${place}/${name}`,
    field,
  ]);
  return [...own, ...Object.entries(part).flatMap(([key, inner]) => fieldsIn(inner, `${place}/${key}`))];
}

/** A part of a configuration that a document shows between backticks. */
const SHOWN = /`((?:source|placement|retry): \{[^`]*\}|\{ driver: [^`]*\})`/g;

/** What the documents show of configuration files, each made a whole file. */
function shownConfigs(): { name: string; text: string; config: unknown }[] {
  const files = blocks()
    .filter(({ language }) => ['yaml', 'json'].includes(language))
    .map(({ name, text }) => ({ name, text: '', config: parse(text) as Record<string, unknown> | null }))
    // The others are a comment and what is simulated.
    .filter(({ config }) => config !== null && !('dataset' in config));
  const parts = [...documents()].flatMap(([name, markdown]) =>
    [...markdown.matchAll(SHOWN)].map(([, text = '']) => {
      const part = parse(text) as Record<string, unknown>;
      if ('driver' in part) return { name, text, config: { source: part } };
      if ('retry' in part) return { name, text, config: { source: { driver: 'memory', ...part } } };
      return { name, text, config: { source: { driver: 'memory' }, ...part } };
    }),
  );
  return [...files, ...parts];
}

describe('the published JSON Schema', () => {
  it('accepts what works', async () => {
    fc.assert(
      fc.property(someConfig(driverPath('noting')), (config) => {
        expect(validate(config) || validate.errors).toBe(true);
      }),
    );
  });

  it('accepts the example', () => {
    const text = fs.readFileSync(path.join(root, 'examples/tiers.yaml'), 'utf8');
    expect(validate(parse(text)) || validate.errors).toBe(true);
  });

  it.each(shownConfigs())('accepts what the documents show: $name $text', ({ config }) => {
    expect(validate(config) || validate.errors).toBe(true);
  });

  it.each(MISTAKES)(
    'rejects what is refused, as far as a schema can know: $what',
    ({ config, beyondSchema = false }) => {
      expect(validate(config)).toBe(beyondSchema);
    },
  );

  it('knows the options of known drivers, and lets other drivers have any', () => {
    const withSource = (source: object) => validate({ source });
    expect(withSource({ driver: 'fs', root: '/data', fsync: true, prefix: 'a/' })).toBe(true);
    expect(withSource({ driver: 'fs', root: '/data', bucket: 'b' })).toBe(false);
    expect(withSource({ driver: 'memory', root: '/data' })).toBe(false);
    expect(withSource({ driver: 'my-driver', bucket: 'b', quota: 1, retry: {} })).toBe(true);
    expect(withSource({ driver: 'my-driver', retry: { attempts: 0 } })).toBe(false);
    expect(validate({ source: { driver: './x.js' }, tiers: [{ driver: './x.js' }] })).toBe(false);
  });

  it('takes variables where they can stand', () => {
    const tiers = [
      { driver: 'fs', root: '${CACHE}', quota: '${QUOTA}', throttle: { bytesPerSecond: '${A}MB' } },
    ];
    expect(validate({ source: { driver: '${DRIVER}' }, tiers, placement: { chunk: '${CHUNK}' } })).toBe(true);
    const cluster = {
      name: '${JOB}',
      rank: '${RANK}',
      size: '${WORLD_SIZE}',
      token: '${TOKEN}',
      port: '94${RANK}',
    };
    expect(validate({ source: { driver: 'memory' }, cluster })).toBe(true);
  });

  it('has the same sizes as the SDK', () => {
    const [pattern = ''] = fieldsIn(schema).flatMap(([, field]) => sizePatterns(field));
    const part = fc.constantFrom(
      '1',
      '20',
      '.',
      ' ',
      'k',
      'M',
      'i',
      'B',
      'b',
      'GiB',
      'tb',
      'p',
      '-',
      'e',
      '\t',
      'x',
      '0.5',
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 5 }).map((parts) => parts.join('')),
        (text) => {
          // Of the form only: that 9 PiB are too many a pattern cannot tell.
          expect(new RegExp(pattern).test(text)).toBe(isSize(text.replaceAll(/\d+/g, '1')));
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('has the same shares as the SDK', () => {
    const quotas = fieldsIn(schema).filter(([place]) => place.endsWith('/quota'));
    const [pattern = ''] = quotas.flatMap(([, field]) => sizePatterns(field));
    const part = fc.constantFrom('0', '00', '1', '42', '100', '101', '.', '.0', '.5', ' ', '%', '-', 'e');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const text = `${parts.join('')}%`;
        const percent = parseShare(text);
        expect(new RegExp(pattern).test(text)).toBe(percent !== undefined);
        if (percent !== undefined) expect(percent > 0 && percent <= 100).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  it('has a title and a description for every field', () => {
    const described = fieldsIn(schema).filter(
      ([place, field]) => !place.includes('/if/') && Object.keys(field).length > 0,
    );
    // The name of a policy is told by the policy.
    const lacking = described.filter(
      ([place, { title, description }]) =>
        !place.endsWith('/name') && (title === undefined || !/\.$/.test(description ?? '')),
    );
    expect(described.length).toBeGreaterThan(30);
    expect(lacking).toEqual([]);
  });
});

function sizePatterns(field: Schema): string[] {
  const { anyOf = [] } = field as { readonly anyOf?: readonly Schema[] };
  return anyOf.flatMap(({ pattern }) => pattern ?? []);
}

function isSize(text: string): boolean {
  try {
    parseBytes(text);
    return true;
  } catch (error) {
    if (isTieredError(error, 'TIERED_CONFIG_INVALID')) return false;
    throw error;
  }
}
