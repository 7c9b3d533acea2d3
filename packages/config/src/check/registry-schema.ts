import { z } from 'zod';
import { expected, filePath, group, secret, text, wholeNumber } from '../fields.js';

const MOST_REPLICAS = 5;

/** The URL has no user, because messages name servers. */
const A_SERVER = 'the URL of a server without a user, such as "nats://host:4222"';
const server = z.string(expected(A_SERVER)).regex(/^((nats|tls):\/\/)?[^/@?#\s]+$|\$\{/, expected(A_SERVER));

const nats = group('where NATS is, such as { servers: ["nats://host:4222"] }', {
  servers: z
    .array(server, expected(`a list: ${A_SERVER}`))
    .min(1, expected(`a list: ${A_SERVER}`))
    .meta({
      title: 'Servers',
      description:
        'URLs of the servers of one NATS deployment, such as nats://host:4222. Any of them is used.',
    }),
  token: secret('text', 1, {
    title: 'Token of NATS',
    description: 'Token for servers that ask for one. Default: none.',
  }).optional(),
  user: text('a name', {
    title: 'User',
    description: 'User name for servers that ask for one. Default: none.',
  }).optional(),
  password: secret('text', 1, { title: 'Password', description: 'Password of the user.' }).optional(),
  credsFile: filePath('the path of a file', {
    title: 'Credentials',
    description:
      'A credentials file from "nsc", relative to this file, with a JWT and its key. Default: none.',
  }).optional(),
  caFile: filePath('the path of a file', {
    title: 'Certificate authority',
    description:
      'A PEM file, relative to this file, of the authority that signed the certificate of the server. ' +
      'Default: the authorities of Node.',
  }).optional(),
  certFile: filePath('the path of a file', {
    title: 'Certificate',
    description:
      'A PEM file, relative to this file, with the certificate for servers that ask for one. Default: ' +
      'none.',
  }).optional(),
  keyFile: filePath('the path of a file', {
    title: 'Key',
    description: 'File with the key of the certificate.',
  }).optional(),
  replicas: wholeNumber(1, {
    title: 'Replicas',
    description:
      'Number of servers that keep the table, up to 5, if this process creates it. With 3, one of them ' +
      'may fail. Default: 1.',
  })
    .max(MOST_REPLICAS, expected(`a whole number from 1 to ${MOST_REPLICAS}`))
    .optional(),
}).meta({
  title: 'NATS',
  description: 'A bucket of NATS JetStream. Needs the packages @nats-io/transport-node and @nats-io/kv.',
});

/**
 * The registries that are tables and have options: a file, and NATS.
 * @param what The expected value of the field, in words.
 */
export function tables(what: string) {
  const sqlite = filePath('the path of a file', {
    title: 'File',
    description:
      'The file of the registry, relative to this file, on a disk of this machine that all processes see.',
  });
  return [group(what, { sqlite }), group(what, { nats })] as const;
}

/** Names of tables that NATS accepts too. */
export function tableName(description: string) {
  const what = expected('1 to 64 letters, digits, "_" and "-"');
  return z
    .string(what)
    .regex(/^[\w-]{1,64}$|\$\{/, what)
    .meta({ title: 'Name', description });
}
