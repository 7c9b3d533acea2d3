import { z } from 'zod';
import { byteSize, expected, group, type FieldText } from '../fields.js';
import { tableName, tables } from './registry-schema.js';

/** The pattern of text that stands for a number, such as the value of a variable. */
const NUMBER = String.raw`^-?\d{1,15}(\.\d{1,15})?$`;

/** A number, also as text: a reference to a variable is text, and so is its value. */
function numberOrText(what: string, [least, most]: readonly [number, number], about: FieldText) {
  const error = expected(what);
  const inRange = z.number(error).min(least, error).max(most, error);
  return z
    .union([inRange, z.string(error).meta({ pattern: `${NUMBER}|\\$\\{` })], error)
    .refine((value) => {
      const isNumber = typeof value === 'number' || new RegExp(NUMBER).test(value);
      return isNumber && Number(value) >= least && Number(value) <= most;
    }, error)
    .transform(Number)
    .meta({ ...about });
}

function rate(what: string, { title, description }: FieldText) {
  return group(what, {
    bytesPerSecond: byteSize(1, {
      title: 'Bytes',
      description: 'Bytes per second, such as 150MB. Default: not set.',
    }).optional(),
    operationsPerSecond: numberOrText('a number of requests, more than 0', [1e-3, 1e9], {
      title: 'Requests',
      description: 'Requests per second. Default: not set.',
    }).optional(),
  }).meta({ title, description });
}

const A_RATE = 'a rate, such as { bytesPerSecond: 150MB }';
const A_NAME = '1 to 256 characters that can be printed';
const printable = (about: FieldText) =>
  z
    .string(expected(A_NAME))
    .regex(/^[^\p{C}]{1,256}$/u, expected(A_NAME))
    .meta({ ...about });

const A_REGISTRY = 'sqlite, { sqlite: FILE } or { nats: { servers: [...] } }';
const A_JOB = '1 to 64 letters, digits, ".", "_" and "-"';

/** The section `control`. */
export const control = group('a job, such as { job: resnet, weight: 2 }', {
  job: z
    .string(expected(A_JOB))
    .regex(/^[\w.-]{1,64}$|\$\{/, expected(A_JOB))
    .meta({
      title: 'Job',
      description:
        'Name of the job for operators and other jobs: letters, digits, ., _ and -. All processes of a ' +
        'job use the same name.',
    }),
  weight: numberOrText('a number from 0.001 to 1000', [1e-3, 1e3], {
    title: 'Weight',
    description:
      'Weight of the job, up to 1000. Of two jobs that want more, one with twice the weight gets twice as ' +
      'much. Default: 1.',
  }).optional(),
  priority: numberOrText('a whole number from -100 to 100', [-100, 100], {
    title: 'Priority',
    description:
      'Priority of the job, up to 100. Jobs of a higher priority get all that they want first. If they ' +
      'take everything, the others nearly stop: each gets its part, by weight, of a hundredth of the ' +
      'source. Default: 0.',
  })
    .refine(Number.isInteger, expected('a whole number from -100 to 100'))
    .optional(),
  atLeast: rate(A_RATE, {
    title: 'At least',
    description:
      'The rate of each source that the job always gets. All jobs together are guaranteed up to nine ' +
      'tenths of a source. Default: none.',
  }).optional(),
  atMost: rate(A_RATE, {
    title: 'At most',
    description: 'The highest rate that the job gets of each source. Default: no bound.',
  }).optional(),
  name: tableName(
    'Name of the registry, the same for jobs that share a source: letters, digits, _ and -. Default: ' +
      'control.',
  ).optional(),
  registry: z
    .union([z.enum(['sqlite'], expected(A_REGISTRY)), ...tables(A_REGISTRY)], expected(A_REGISTRY))
    .meta({
      title: 'Registry',
      description:
        'The registry where the jobs meet: sqlite, a file of this user and machine; or a mapping with ' +
        'sqlite or nats. Default: sqlite.',
    })
    .optional(),
  source: group('what the source is called, and what it gives', {
    name: printable({
      title: 'Name',
      description:
        "Name of the source. Jobs that use the same name share it. Default: for a directory, the server's " +
        'part of its mount, such as server:/export, else the mount point, which is file:/// for all ' +
        'directories of the root disk; for a bucket, its address.',
    }).optional(),
    budget: rate(A_RATE, {
      title: 'Budget',
      description:
        'The rate that the source gives to all jobs together. Operators can set another one. If jobs give ' +
        'different budgets, the smallest counts. Default: measured.',
    }).optional(),
  })
    .meta({ title: 'Source', description: 'The source that the jobs share.' })
    .optional(),
  node: printable({
    title: 'Node',
    description: 'Name of the machine, whose jobs share its memory and producers. Default: its host name.',
  }).optional(),
}).meta({
  title: 'Control',
  description:
    'Lets several jobs share a source by weight. Jobs are openDataset, "tiered run", "tiered daemon", ' +
    '"tiered serve" and "tiered warmup"; other commands ignore the section. Needs @tiered/control. ' +
    'Default: this process takes all it can get.',
});
