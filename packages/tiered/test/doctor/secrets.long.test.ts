import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { tiered } from '../cli/run-tiered.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-secrets-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

/** All of them have this in them, which nothing else has. */
const MARK = 'hunter2';
/** As people have them, as they may be at worst, and as messages write them differently. */
const secret = fc
  .oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ maxLength: 20, unit: 'binary' }),
    fc.constantFrom('"', '\\', 'a\nb', ' a/b%20c', '/../x/', '\u0130', "'", '.example'),
  )
  .map((text) => `${MARK}${text}`);
/** Text that needs no variable, which `$` would begin. */
const literal = secret.map((text) => text.replaceAll('$', ''));

/** Fields that say where something is. What stands in them is shown, but for the secret parts of URLs. */
const PLACES = ['root', 'bucket', 'prefix', 'endpoint', 'service', 'region', 'driver'];
const url = literal
  .map((text) => encodeURIComponent(text.toWellFormed()))
  .chain((text) =>
    fc.constantFrom(
      `https://${text}:x@host:9000/`,
      `https://x:${text}@host/`,
      `https://host/${text}/data`,
      `https://host/?X-Amz-Signature=${text}`,
      `https://host/#${text}`,
      `postgres://x:${text}@host/db?password=${text}`,
      `user:${text}@host/path`,
      `AccountName=x;AccountKey=${text}`,
    ),
  );

/** A field that is nobody's, or somebody's, with a secret in it. */
const FIELDS = [
  ...[
    'password',
    'secretAccessKey',
    'token',
    'sessionToken',
    'connectionString',
    'options',
    'name',
    'location',
  ],
  ...[
    'profile',
    'quota',
    'layout',
    'retry',
    'limit',
    'throttle',
    'hedge',
    'concurrency',
    'readableBy',
    'fsync',
  ],
];
const named = fc.oneof(
  fc.constantFrom(...FIELDS),
  fc.string({ minLength: 1, maxLength: 12 }).map((text) => `x${text}`),
);
const digits = fc.integer({ min: 10_000_000, max: 2 ** 40 });

/** Where a secret is, and what is to be searched for. */
interface Put {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly texts: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const put: fc.Arbitrary<Put> = fc.oneof(
  fc.tuple(named, literal, fc.boolean()).map(([name, text, isDeep]) => ({
    fields: { [name]: isDeep ? { inner: [text], [name]: { text } } : text },
    texts: [text],
  })),
  digits.map((number) => ({ fields: { password: number, pin: [number] }, texts: [String(number)] })),
  fc
    .tuple(fc.constantFrom(...PLACES), url)
    .map(([name, text]) => ({ fields: { [name]: text }, texts: [text] })),
  fc
    .tuple(
      fc.oneof(fc.constantFrom(...PLACES), named),
      secret.filter((text) => !text.includes('\0')),
    )
    .map(([name, text]) => ({
      fields: { [name]: '${DOCTOR_PLACE}' },
      texts: [text],
      env: { DOCTOR_PLACE: text },
    })),
  secret
    .filter((text) => !text.includes('\0'))
    .map((text) => ({ fields: {}, texts: [text], env: { AWS_SECRET_ACCESS_KEY: text, SOME_TOKEN: text } })),
);

/**
 * All that a diagnosis says of a configuration. On the terminal, mistakes in it are those of "config check",
 * which shows the values that are wrong. The bundle does not.
 */
async function toldOf(config: object, env: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const file = path.join(directory, 'tiers.yaml');
  await writeFile(file, stringify(config));
  const bundle = path.join(directory, 'bundle.json');
  const { out, messages } = await tiered('doctor', file, '--timeout', '2', '--bundle', bundle);
  const json = await tiered('doctor', file, '--timeout', '2', '--json');
  const { code, messages: mistakes } = await tiered('config', 'check', file);
  const onTerminal = code === 0 ? [out, json.out] : [];
  const told = [...onTerminal, messages, json.messages, await readFile(bundle, 'utf8')].join('\n');
  for (const mistake of code === 0 ? [] : mistakes.trim().split('\n').slice(1))
    expect(out).toContain(mistake.trim());
  await rm(bundle);
  vi.unstubAllEnvs();
  return told;
}

const SERVER = { driver: 's3', bucket: 'data', endpoint: 'http://127.0.0.1:9', attempts: 1 };
const level = fc.constantFrom({ driver: 'fs', root: 'data' }, { driver: 'memory' }, SERVER, {
  driver: 'opendal',
  service: 'fs',
  options: { root: 'other' },
});

describe('no secret is in a bundle, nor in the output of a configuration that can work', () => {
  it('whatever field, level or variable it is in', async () => {
    const where = fc.constantFrom('source', 'tier', 'placement', 'file', 'options');
    await fc.assert(
      fc.asyncProperty(put, level, where, async ({ fields, texts, env = {} }, own, at) => {
        const config = {
          source: { ...own, ...(at === 'source' && fields), ...(at === 'options' && { options: fields }) },
          tiers: [{ driver: 'memory', quota: '1MiB', ...(at === 'tier' && fields) }],
          ...(at === 'placement' && { placement: fields }),
          ...(at === 'file' && fields),
        };
        const told = await toldOf(config, env);
        expect(told.toLowerCase()).not.toContain(MARK);
        for (const text of texts) expect(told).not.toContain(text);
      }),
      { numRuns: 100 },
    );
  });

  it('whatever messages repeat it', async () => {
    await writeFile(
      path.join(directory, 'echoing.mjs'),
      `export const driverFactory = {
        schema: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
        create({ key, how }) {
          if (how === 'create') throw new Error('cannot use ' + key);
          const fail = async () => { throw new Error(\`\${key} and \${JSON.stringify(key)} and \${encodeURIComponent(key)}\`); };
          const capabilities = { list: true };
          return { name: 'echo:' + key, capabilities, location: 'echo://' + key, open: fail, close: async () => {}, stat: fail,
            list: fail, read: fail, readInto: fail, readMany: fail, write: fail, create: fail, delete: fail, usage: fail, openIndex: fail };
        },
      };`,
    );
    const echoing = { driver: './echoing.mjs' };
    const tier = { driver: 'memory', quota: '1MiB' };
    const text = secret.map((one) => one.replaceAll('\0', '').replaceAll('$', '').toWellFormed());
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        const configs = [
          { source: { ...SERVER, bucket: '${DOCTOR_PLACE}' } },
          { source: { ...SERVER, prefix: '${DOCTOR_PLACE}/' } },
          {
            source: { driver: 'fs', root: '${DOCTOR_PLACE}' },
            tiers: [{ ...tier, driver: 'fs', root: '${DOCTOR_PLACE}/x' }],
          },
          ...['${DOCTOR_PLACE}', value].flatMap((key) => [
            { source: { ...echoing, key } },
            { source: { ...echoing, key, how: 'create' } },
            {
              source: SERVER,
              tiers: [
                { ...tier, quota: key },
                { ...tier, layout: key },
              ],
            },
            { source: SERVER, versions: key, placement: { whenBehind: key, policy: key } },
          ]),
        ];
        for (const config of configs)
          expect((await toldOf(config, { DOCTOR_PLACE: value })).toLowerCase()).not.toContain(MARK);
      }),
      { numRuns: 8 },
    );
  });
});
