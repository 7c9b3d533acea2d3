import { configError } from '@tiered/core/internal';

/** What decides where requests go. */
export interface EndpointOptions {
  readonly bucket: string;
  readonly prefix: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
}

/** Where requests go. */
export interface Endpoint {
  readonly bucket: string;
  readonly region: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** As the Host header has it. */
  readonly host: string;
  readonly hostname: string;
  readonly protocol: string;
  /** What stands before `/KEY` in a path; without a slash at its end. */
  readonly basePath: string;
  /** Where objects are, for people and for comparing; see `StorageDriver.location`. */
  readonly location: string;
}

/**
 * Finds the endpoint: from the options, else from the environment, else that of AWS.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function resolveEndpoint(
  options: EndpointOptions,
  env: Readonly<Record<string, string | undefined>>,
): Endpoint {
  const { bucket, prefix } = options;
  const region = options.region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1');
  const own = options.endpoint ?? (env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || undefined);
  const url = parseEndpoint(own ?? awsEndpoint(region));
  const isAws = own === undefined || /\.amazonaws\.com(\.cn)?$/.test(url.hostname);
  const pathStyle = options.pathStyle ?? (!isAws || bucket.includes('.'));
  if (!pathStyle) {
    if (!/^[a-z0-9][a-z0-9.-]*$/.test(bucket))
      throw configError('bucket', 'a bucket that can stand in a host name, or pathStyle: true', bucket);
    url.hostname = `${bucket}.${url.hostname}`;
  }
  const directory = url.pathname.replace(/\/+$/, '');
  return {
    bucket,
    region,
    origin: url.origin,
    host: url.host,
    hostname: url.hostname,
    protocol: url.protocol,
    basePath: pathStyle ? `${directory}/${bucket}` : directory,
    location: isAws
      ? `s3://${bucket}/${prefix}`
      : `${url.origin}${directory}/${pathStyle ? `${bucket}/` : ''}${prefix}`,
  };
}

function awsEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

function parseEndpoint(text: string): URL {
  const expected = 'an http or https URL without credentials and query, such as "https://s3.example.com"';
  // Not shown: what is wrong with it may be the password in it.
  if (!URL.canParse(text)) throw configError('endpoint', expected, undefined);
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || !/^https?:$/.test(url.protocol)) throw configError('endpoint', expected, undefined);
  return url;
}
