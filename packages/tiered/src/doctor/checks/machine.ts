import type { MachineFacts } from '../facts/machine.js';
import { findingsOn, type Finding } from '../finding.js';

const { ok, note, warning, problem } = findingsOn('machine');

/** The oldest Node that can run this, as the packages say. */
const LEAST = [20, 19] as const;
/** The releases of Node that the tests are run with. */
const TESTED = [20, 22, 24, 26];

/** Whether this Node is one that works. */
export function nodeWorks({ node }: Pick<MachineFacts, 'node'>): Finding {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]))
    return problem(`Node ${node} is too old`, `Use Node ${LEAST.join('.')} or later, best ${TESTED.at(-1)}.`);
  return TESTED.includes(major)
    ? ok(`Node ${node}`)
    : note(`Node ${node} is a release that tiered is not tested with`, `It is with ${TESTED.join(', ')}.`);
}

/** Whether there are processors for reading beside the training. */
export function coresSuffice({ cores }: Pick<MachineFacts, 'cores'>): Finding {
  return cores > 1
    ? ok(`${cores} cores`)
    : note('only one core may be used here', 'Reading and the training share it; give the container more.');
}

/** What keeps descriptors open, by its name. */
export type DescriptorUses = ReadonlyMap<string, number>;

/** Standard streams, modules, threads, the index and its sockets, with some to spare. */
const OTHER_DESCRIPTORS = 128;

/** Whether the process may have the descriptors that the levels may keep open. */
export function descriptorsSuffice(
  uses: DescriptorUses,
  { openFiles }: Pick<MachineFacts, 'openFiles'>,
): Finding[] {
  if (openFiles === undefined) return [];
  const needed = [...uses.values()].reduce((sum, count) => sum + count, OTHER_DESCRIPTORS);
  const found = `up to ${needed.toLocaleString('en')} files and connections are open at a time, of ${openFiles === Infinity ? 'any number' : openFiles.toLocaleString('en')} that are allowed`;
  return [
    needed > openFiles
      ? problem(
          found,
          `Allow more: ulimit -n ${Math.max(4096, 2 * needed)}, LimitNOFILE= of a service, or --ulimit nofile= of a container. Or keep fewer open, by maxOpenFiles of fs and concurrency of s3.`,
        )
      : ok(found),
  ];
}

/** Pools of this size bear the latency of network file systems. */
const MANY_THREADS = 16;

/**
 * Whether files are read by native threads, and if not, whether Node's pool makes up for that.
 * @param areFiles Whether any level is a directory.
 */
export function threadsSuffice(
  { native, poolThreads }: Pick<MachineFacts, 'native' | 'poolThreads'>,
  areFiles: boolean,
): Finding[] {
  if (!areFiles) return [];
  if (native.available) return [ok('files are read by native threads (@tiered/native)')];
  const found = `files are read by Node's ${poolThreads} threads, as native ones are not available: ${native.reason.replace(/\.$/, '')}`;
  const advice =
    poolThreads >= MANY_THREADS
      ? undefined
      : 'That is too few for a slow file system: set UV_THREADPOOL_SIZE to 32 or 64 in the environment before Node starts.';
  // Somebody installed it, and expects it to be used.
  return [
    native.tried.length > 0 && /cannot be loaded/.test(found) ? warning(found, advice) : note(found, advice),
  ];
}

/**
 * Whether a tier works on this machine.
 * @param failure What the one in a temporary directory failed with; undefined if it did not.
 */
export function tierWorks(failure: string | undefined): Finding {
  if (failure === undefined) return ok('a tier in a temporary directory was filled and read');
  return problem(
    `a tier in a temporary directory failed: ${failure}`,
    'Look at what it failed with: a tier needs threads, UNIX sockets, the database of the package libsql for this platform, and TMPDIR.',
  );
}
