/** Makes the driver from a configuration file. @module */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { byteSize, expected, filePath, group, milliseconds, text, wholeNumber } from '@tiered/config/fields';
import type { DriverFactory } from '@tiered/core/driver';
import { configError } from '@tiered/core/internal';
import { z } from 'zod';
import { RedisDriver } from './driver.js';
import type { RedisTls } from './options.js';

/** A field whose value is never shown. */
const secret = (title: string, description: string) =>
  z.string({ error: () => 'expected text; put it in quotes' }).meta({ title, description });

const nodes = z
  .array(z.string(expected('a server such as "host:6379"')), expected('a list of servers'))
  .min(1, expected('a list of servers'))
  .meta({ title: 'Servers', description: 'Some of the servers, as host:port; the others are discovered.' });

const tlsFiles = group('files in PEM', {
  ca: filePath('the path of a file', {
    title: 'Authorities',
    description: 'File with the trusted certificates, relative to this file. Default: those of Node.',
  }).optional(),
  cert: filePath('the path of a file', {
    title: 'Certificate',
    description: 'File with the client certificate, for servers that ask for one. Default: none.',
  }).optional(),
  key: filePath('the path of a file', {
    title: 'Key',
    description: 'File with the key of the client certificate. Default: none.',
  }).optional(),
}).meta({
  title: 'TLS',
  description: 'Encrypts connections, and names the certificates to trust. Default: as url says.',
});

const schema = group('options of the driver', {
  url: text('a URL such as redis://host:6379/0', {
    title: 'URL',
    description:
      'URL of a single server: redis://host:6379/0, or rediss:// for TLS. One of url, sentinel and ' +
      'cluster is required.',
  }).optional(),
  sentinel: group('a mapping with name and nodes', {
    name: text('the name of a master', {
      title: 'Name',
      description: 'The name by which the Sentinels know the master.',
    }),
    nodes,
    username: secret('User', 'User of the Sentinels. Default: none.').optional(),
    password: secret(
      'Password',
      'Password of the Sentinels; take it from ${NAME}. Default: none.',
    ).optional(),
  })
    .optional()
    .meta({ title: 'Sentinel', description: 'Servers that Sentinels watch, instead of url.' }),
  cluster: group('a mapping with nodes', { nodes })
    .optional()
    .meta({ title: 'Cluster', description: 'A cluster, instead of url.' }),
  username: secret('User', 'User of the servers. Default: the user "default".').optional(),
  password: secret('Password', 'Password of the servers; take it from ${NAME}. Default: none.').optional(),
  tls: tlsFiles.optional(),
  keyPrefix: text('text such as "tiered:"', {
    title: 'Key prefix',
    description: 'Prefix of every key in Redis, without "{". Default: "tiered:".',
  }).optional(),
  chunk: byteSize(1, {
    title: 'Chunk',
    description: 'Longer objects are split into several keys of this size. Default: 512 KiB.',
  }).optional(),
  ttlMs: wholeNumber(1, {
    title: 'Expiry',
    description: 'Milliseconds after which written keys expire. Default: 7 days.',
  }).optional(),
  timeoutMs: milliseconds('more than 0', {
    title: 'Deadline',
    description: 'Milliseconds within which a command has to be answered. Default: 5000.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Commands',
    description: 'Maximum number of concurrent commands. Default: 1024.',
  }).optional(),
  memory: byteSize(1, {
    title: 'Memory',
    description: 'Maximum number of bytes in flight. Default: 64 MiB.',
  }).optional(),
});

/** `driver: redis`: one or several servers of Redis or Valkey. Written only as a tier. */
export const driverFactory: DriverFactory<z.infer<typeof schema>> = {
  schema,
  create: ({ keyPrefix, tls, ...options }, { baseDirectory, role, clock }) =>
    new RedisDriver({
      ...options,
      prefix: keyPrefix,
      ...(tls !== undefined && { tls: tlsOf(tls, baseDirectory) }),
      writable: role === 'tier',
      clock,
    }),
};

function tlsOf(files: z.infer<typeof tlsFiles>, baseDirectory: string): RedisTls {
  const read = ([field, file = '']: [string, string | undefined]) =>
    [field, contentOf(field, path.resolve(baseDirectory, file))] as const;
  return Object.fromEntries(Object.entries(files).map(read));
}

function contentOf(field: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = 'no such file' } = error as NodeJS.ErrnoException;
    throw configError(`tls.${field}`, `a file that can be read (${code})`, file);
  }
}
