import type { S3Server } from '@tiered/s3-server';
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { pythonOf } from '../../tools/frameworks/environments.js';
import type { Client } from './clients.js';

/** Where the scripts are. */
export const SCRIPTS = path.join(import.meta.dirname, 'clients');

/** What a script works with. */
export interface ScriptParts {
  readonly endpoint: string;
  /** Whose region and keys are those of the client. */
  readonly server: Pick<S3Server, 'region' | 'credentials'>;
  /** A directory, in which the home of the client is made. */
  readonly directory: string;
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a script in a process of its own, with an environment that says all. Returns what it prints. */
export async function runScript(
  { script, environment }: Pick<Client, 'script' | 'environment'>,
  { endpoint, server: { region, credentials }, directory, env = {} }: ScriptParts,
): Promise<Record<string, unknown>> {
  const home = await mkdtemp(path.join(directory, 'home-'));
  // Nothing of the account of whoever runs the tests.
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_'));
  const all = {
    ...Object.fromEntries(others),
    HOME: home,
    TMPDIR: home,
    NO_PROXY: '*',
    no_proxy: '*',
    PYTHONDONTWRITEBYTECODE: '1',
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ENDPOINT_URL: endpoint,
    AWS_EC2_METADATA_DISABLED: 'true',
    ...env,
  };
  const options = { env: all, maxBuffer: 16 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(
    pythonOf(environment) ?? '',
    [path.join(SCRIPTS, script)],
    options,
  );
  return JSON.parse(stdout) as Record<string, unknown>;
}
