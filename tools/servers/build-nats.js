/**
 * Builds the newest nats-server that the tests of @tiered/cluster know, in the cache directory of the user:
 * `node tools/servers/build-nats.js`. Takes a minute and 24 MB, once. Without a Go that can, it says so, and
 * the tests use the server of the system alone.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const VERSION = 'v2.15.2';
/** The least that its module asks for. */
const GO = [1, 26];

const directory = path.join(os.homedir(), '.cache/tiered', `nats-server-${VERSION}`);

/** Where it is, if it was built. */
export const NEWEST_NATS = path.join(directory, 'nats-server');

function build() {
  if (existsSync(NEWEST_NATS)) return;
  const { stdout = '' } = spawnSync('go', ['version'], { encoding: 'utf8' });
  const [major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(stdout ?? '') ?? []).slice(1).map(Number);
  if (major < GO[0] || (major === GO[0] && minor < GO[1])) {
    console.log(`nats-server ${VERSION} needs Go ${GO.join('.')}, and is left out.`);
    return;
  }
  mkdirSync(directory, { recursive: true });
  const env = { ...process.env, GOBIN: directory };
  execFileSync('go', ['install', `github.com/nats-io/nats-server/v2@${VERSION}`], { env, stdio: 'inherit' });
}

if (process.argv[1] === import.meta.filename) build();
