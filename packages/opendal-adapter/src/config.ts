/** Makes the driver from a configuration file. @module */
import path from 'node:path';
import { expected, group, text, wholeNumber } from '@tiered/config/fields';
import type { DriverFactory } from '@tiered/core/driver';
import { assertNoTilde } from '@tiered/core/internal';
import { z } from 'zod';
import { OpenDalDriver } from './driver.js';

const OPTIONS = 'a mapping of texts, such as { bucket: data }';

/** Options of the service `fs` that are directories. */
const DIRECTORIES = ['root', 'atomic_write_dir'];

const schema = group('options of the driver', {
  service: text('the name of a service of OpenDAL, such as gcs', {
    title: 'Service',
    description: "OpenDAL's name of the service: gcs, azblob, webhdfs, fs and so on.",
  }),
  options: z
    .record(z.string(), z.string(expected('text; put numbers and flags in quotes')), expected(OPTIONS))
    .optional()
    .meta({
      title: 'Options of the service',
      description:
        'Options of the service, as OpenDAL documents them: in snake_case, with every value as text. Take ' +
        'secrets from ${NAME}. Directories of fs are relative to the file. Default: none.',
    }),
  concurrency: wholeNumber(1, {
    title: 'Requests',
    description: 'Maximum number of concurrent HTTP requests. Default: 64.',
  }).optional(),
  location: text('text such as "gdrive://team/datasets/"', {
    title: 'Location',
    description:
      'Location of the objects: different for every place, without secrets, ending with a slash. Needed ' +
      'if the options do not tell the place, as for gdrive and mysql. Default: derived from the options.',
  }).optional(),
  name: text('a name', {
    title: 'Name',
    description: 'Name of the driver in messages and metrics. Default: the service and its location.',
  }).optional(),
});

/** `driver: opendal`: a service that OpenDAL supports. It is writable only if it is a tier. */
export const driverFactory: DriverFactory<z.infer<typeof schema>> = {
  schema,
  create: (options, { baseDirectory, role, clock }) =>
    new OpenDalDriver({
      ...options,
      options: options.service === 'fs' ? resolved(options.options ?? {}, baseDirectory) : options.options,
      writable: role === 'tier',
      clock,
    }),
};

function resolved(options: Readonly<Record<string, string>>, baseDirectory: string): Record<string, string> {
  const absolute = (field: string, value: string) => {
    if (!DIRECTORIES.includes(field)) return value;
    assertNoTilde(`options.${field}`, value);
    return path.resolve(baseDirectory, value);
  };
  return Object.fromEntries(Object.entries(options).map(([field, value]) => [field, absolute(field, value)]));
}
