import { configError, hiddenConfigError } from '@tiered/core/internal';

/** The options that decide where requests go. */
export interface EndpointOptions {
  readonly bucket: string;
  readonly prefix: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
}

/** A target that is neither the bucket nor an object. */
export interface RequestPlace {
  /** As in the Host header. */
  readonly host: string;
  readonly path: string;
}

/** The path of AIStore's GetBatch. The bucket follows it. */
export const BATCH_PATH = '/v1/ml/moss';

/** Where requests go. */
export interface Endpoint {
  readonly bucket: string;
  readonly region: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** As in the Host header. */
  readonly host: string;
  readonly hostname: string;
  readonly protocol: string;
  /** The path before `/KEY`, without a trailing slash. */
  readonly basePath: string;
  /** The target of batch requests, at an endpoint that returns many objects in one answer. */
  readonly batches: RequestPlace;
  /** The location of objects, for people and for comparing; see `StorageDriver.location`. */
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
  const variable = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'].find((name) => env[name]) ?? '';
  const own = options.endpoint ?? env[variable];
  const field = options.endpoint === undefined ? variable : 'endpoint';
  const url = own === undefined ? awsEndpoint(region) : parseEndpoint(field, own);
  const isAws = own === undefined || /\.amazonaws\.com(\.cn)?$/.test(url.hostname);
  const pathStyle = options.pathStyle ?? (!isAws || bucket.includes('.'));
  const { host } = url;
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
    batches: { host, path: `${directory}${BATCH_PATH}/${bucket}` },
    location: isAws
      ? `s3://${bucket}/${prefix}`
      : `${url.origin}${directory}/${pathStyle ? `${bucket}/` : ''}${prefix}`,
  };
}

function awsEndpoint(region: string): URL {
  const text = `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  if (URL.canParse(text)) return new URL(text);
  throw configError('region', 'a region such as "eu-central-1"', region);
}

/** @param field Source of the text: the option, or the environment variable. */
function parseEndpoint(field: string, text: string): URL {
  const wrong = problemOf(text);
  if (wrong === undefined) return new URL(text);
  throw hiddenConfigError(
    field,
    'an http or https URL without credentials and query, such as "https://s3.example.com"',
    wrong,
  );
}

/**
 * The problem with an endpoint. The text is shown only if it is a bare host, as it may contain a password
 * otherwise.
 */
function problemOf(text: string): string | undefined {
  if (/^[\w.-]+(:\d+)?$/.test(text))
    return `"${text}", which has no scheme; write "http://${text}" or "https://${text}"`;
  if (!URL.canParse(text)) return 'text that is not a URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (!/^https?:$/.test(protocol)) return 'a URL that begins with something else';
  if (username !== '' || password !== '') return 'a URL with credentials in it; give them as credentials';
  return search !== '' || hash !== '' ? 'a URL with a query or a fragment' : undefined;
}
