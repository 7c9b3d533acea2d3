import { z } from 'zod';
import { byteSize, expected, group, type FieldText } from '../fields.js';
import { tableName, tables } from './registry-schema.js';

/** What text has to be that stands for a number, such as that of a variable. */
const NUMBER = String.raw`^-?\d{1,15}(\.\d{1,15})?$`;

/** A number, also as text: a reference to a variable is text, and so is what comes in its place. */
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
      description: 'In a second, such as 150MB. Default: not said.',
    }).optional(),
    operationsPerSecond: numberOrText('a number of requests, more than 0', [1e-3, 1e9], {
      title: 'Requests',
      description: 'In a second. Default: not said.',
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
        'What operators and other jobs call it: letters, digits, ., _ and -. Processes of one job name the same.',
    }),
  weight: numberOrText('a number from 0.001 to 1000', [1e-3, 1e3], {
    title: 'Weight',
    description:
      'Of two jobs that want more, one with twice the weight gets twice as much. Up to 1000. Default: 1.',
  }).optional(),
  priority: numberOrText('a whole number from -100 to 100', [-100, 100], {
    title: 'Priority',
    description:
      'Jobs of a higher one get all that they want first. Where they take all, the others nearly stop: each has its part by weight of a ' +
      'hundredth of the source. Up to 100. Default: 0.',
  })
    .refine(Number.isInteger, expected('a whole number from -100 to 100'))
    .optional(),
  atLeast: rate(A_RATE, {
    title: 'At least',
    description:
      'What the job gets of each source whatever others want. Together, jobs get up to nine tenths of a source so. Default: nothing.',
  }).optional(),
  atMost: rate(A_RATE, {
    title: 'At most',
    description: 'The most that the job gets of each source. Default: no bound.',
  }).optional(),
  name: tableName(
    'Of the registry: jobs that share a source name the same. Letters, digits, _ and -. Default: control.',
  ).optional(),
  registry: z
    .union([z.enum(['sqlite'], expected(A_REGISTRY)), ...tables(A_REGISTRY)], expected(A_REGISTRY))
    .meta({
      title: 'Registry',
      description:
        'Where the jobs meet: sqlite, a file of this user and machine; or a mapping with sqlite or nats. Default: sqlite.',
    })
    .optional(),
  source: group('what the source is called, and what it gives', {
    name: printable({
      title: 'Name',
      description:
        'Jobs that name the same share it. Default: what is mounted where the directory is, such as server:/export, else the mount ' +
        'point, which is file:/// for all directories of the root disk; for a bucket, its address.',
    }).optional(),
    budget: rate(A_RATE, {
      title: 'Budget',
      description:
        'What the source gives to all jobs together. Operators can set another one. If jobs say different things, the least counts. ' +
        'Default: it is measured.',
    }).optional(),
  })
    .meta({ title: 'Source', description: 'The source, as jobs share it.' })
    .optional(),
  node: printable({
    title: 'Node',
    description: 'The machine, whose memory and producers its jobs share. Default: its host name.',
  }).optional(),
}).meta({
  title: 'Control',
  description:
    'Has several jobs share a source by weight: those of openDataset, "tiered run", "tiered daemon", "tiered serve" and ' +
    '"tiered warmup". Other commands leave it out. Needs @tiered/control. Default: this process takes what it can get.',
});
