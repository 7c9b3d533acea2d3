/** Makes the driver from a configuration file. @module */
import { byteSize, flag, group, milliseconds, text, wholeNumber } from '@tiered/config/fields';
import type { DriverFactory } from '@tiered/core/driver';
import { hiddenConfigError } from '@tiered/core/internal';
import { S3Driver } from './driver.js';
import type { S3DriverOptions } from './options.js';

const schema = group('options of the driver', {
  bucket: text('the name of a bucket', {
    title: 'Bucket',
    description:
      'The bucket. Credentials cannot be given in the file: they come from the environment or a profile.',
  }),
  region: text('a region such as "eu-central-1"', {
    title: 'Region',
    description: 'The region of the bucket. Default: AWS_REGION, else AWS_DEFAULT_REGION, else us-east-1.',
  }).optional(),
  endpoint: text('an http or https URL', {
    title: 'Endpoint',
    description:
      'URL of the server. Default: AWS_ENDPOINT_URL_S3, else AWS_ENDPOINT_URL, else AWS in the region.',
  }).optional(),
  pathStyle: flag({
    title: 'Path style',
    description:
      'Whether requests name the bucket in the path instead of the host name. Default: false for AWS ' +
      'unless the name has a dot, else true.',
  }).optional(),
  anonymous: flag({
    title: 'Anonymous',
    description: 'Whether requests are not signed, for public buckets. Default: false.',
  }).optional(),
  profile: text('the name of a profile', {
    title: 'Profile',
    description:
      'Profile of the shared AWS configuration to take credentials from. Default: the choice of AWS tools.',
  }).optional(),
  requesterPays: flag({
    title: 'Requester pays',
    description: 'Whether the requester pays for requests and transfer. Default: false.',
  }).optional(),
  proxy: text('environment, none or a URL', {
    title: 'Proxy',
    description:
      'The proxy: environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), none or a URL. Default: environment.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description:
      'Maximum number of concurrent requests, each on a connection of its own; fewer when the server asks ' +
      'for that. Default: 64.',
  }).optional(),
  chunk: byteSize(1, {
    title: 'Chunk',
    description: 'Longer reads and writes are split into parts of this size, at least 5 MiB. Default: 8 MiB.',
  }).optional(),
  listConcurrency: wholeNumber(1, {
    title: 'Listing',
    description: 'Number of key ranges that are listed at the same time. Default: 8.',
  }).optional(),
  attempts: wholeNumber(1, {
    title: 'Attempts',
    description:
      'Maximum number of attempts at a request, counted anew whenever bytes have arrived. Default: as ' +
      'many as fit within the deadline; 8 as long as the server has never answered, unless the deadline ' +
      'is given.',
  }).optional(),
  deadlineMs: milliseconds('more than 0', {
    title: 'Deadline',
    description:
      'Milliseconds without progress after which an operation gives up; 600000 survives an outage of ten minutes. Default: 60000.',
  }).optional(),
  leastBytesPerSecond: byteSize(1, {
    title: 'Least rate',
    description: 'Minimum average rate of the body of a response, in bytes per second. Default: 8192.',
  }).optional(),
  timeoutMs: milliseconds('more than 0', {
    title: 'Silence',
    description:
      'Milliseconds for which a connection may be silent before it counts as broken. Default: 10000.',
  }).optional(),
});

/** Options of `driver: s3` in a file. */
export interface S3FileOptions extends Omit<
  S3DriverOptions,
  'prefix' | 'credentials' | 'headers' | 'proxy' | 'writable' | 'seed' | 'clock'
> {
  readonly anonymous?: boolean | undefined;
  readonly proxy?: string | undefined;
}

/** `driver: s3`: a bucket. It is written only if it is a tier. */
export const driverFactory: DriverFactory<S3FileOptions> = {
  schema,
  create: ({ anonymous, proxy, ...options }, { role, clock }) =>
    new S3Driver({
      ...options,
      ...(anonymous === true && { credentials: 'anonymous' }),
      ...(proxy !== undefined && { proxy: proxyOf(proxy) }),
      writable: role === 'tier',
      clock,
    }),
};

function proxyOf(text: string): 'environment' | 'none' | URL {
  if (text === 'environment' || text === 'none') return text;
  if (!URL.canParse(text))
    throw hiddenConfigError(
      'proxy',
      'environment, none or a URL such as http://proxy:3128',
      'text that is not a URL',
    );
  return new URL(text);
}
