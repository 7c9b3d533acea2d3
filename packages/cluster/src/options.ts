import { systemClock, type Clock } from '@tiered/core';
import { assertCounts, assertMilliseconds, configError } from '@tiered/core/internal';
import { isLoopback } from '@tiered/gateway/internal';
import { assertTtl } from './registry/checks.js';
import type { Registry } from './registry/registry.js';

/** Options of `Cluster.join`. */
export interface ClusterOptions {
  /** Says who is there. Opened and closed by the cluster. */
  readonly registry: Registry;
  /** The number of this worker, from 0, as RANK of torchrun. Default: the lowest one that is free. */
  readonly rank?: number | undefined;
  /**
   * The number of workers, if it is fixed: then objects have homes among all of them from the start, whoever
   * is there. Default: those that the registry knows, so that a home is another one when a worker has come,
   * or has been gone for `goneAfterMs`.
   */
  readonly size?: number | undefined;
  /**
   * The secret of the workers: each request to a peer is signed with it. At least 16 characters. Needed
   * unless `host` is loopback, where all users of the machine can read without.
   */
  readonly token?: string | undefined;
  /** Whether this worker keeps objects for others. Default: true. */
  readonly share?: boolean | undefined;
  /**
   * What all workers have to agree on, each as text: the dataset and its version, the seed, a digest of the
   * configuration. Compared when a worker joins. Default: nothing.
   */
  readonly agreed?: Readonly<Record<string, string>> | undefined;
  /** The address to serve peers on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default: 0, a free port. */
  readonly port?: number | undefined;
  /**
   * The URL under which others reach this worker, such as `http://worker-3.training:9400`. Default: that of
   * `host` and the port; if `host` is all addresses, that of the first network.
   */
  readonly advertise?: string | undefined;
  /**
   * Whole milliseconds, at least 1,000, after which a record expires that is not renewed; it is renewed three
   * times as often. Default: 10,000. A worker takes the rank of one that was killed after as long.
   */
  readonly ttlMs?: number | undefined;
  /**
   * Milliseconds after which a worker without a record counts as gone for good, and other workers become the
   * homes of its objects, unless `size` is given. Default: 60,000: a restart is no change.
   */
  readonly goneAfterMs?: number | undefined;
  /**
   * Milliseconds that a peer has for an answer; then the source is read. It may have to fetch the object
   * first. Default: 5,000.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Milliseconds after which a read is asked of the source as well, for at most a twentieth of the reads.
   * Default: a fifth of `deadlineMs`.
   */
  readonly lateAfterMs?: number | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Ends the joining. */
  readonly signal?: AbortSignal | undefined;
}

type Defaults =
  'share' | 'agreed' | 'host' | 'port' | 'ttlMs' | 'goneAfterMs' | 'deadlineMs' | 'lateAfterMs' | 'clock';

/** The options with their defaults. */
export type CheckedOptions = ClusterOptions & {
  readonly [Field in Defaults]-?: Exclude<ClusterOptions[Field], undefined>;
};

const SHORTEST_TOKEN = 16;

/**
 * Fills in the defaults.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field. No message has the token.
 */
export function checkedOptions(options: ClusterOptions): CheckedOptions {
  const { rank = 0, size = Infinity, token, host = '127.0.0.1' } = options;
  const { deadlineMs = 5_000, ttlMs = 10_000, goneAfterMs = 60_000 } = options;
  const { lateAfterMs = deadlineMs / 5 } = options;
  assertCounts({ rank }, 0);
  assertTtl(ttlMs);
  if (options.size !== undefined) assertCounts({ size });
  if (rank >= size) throw configError('rank', `a number from 0 to ${size - 1}, as size is ${size}`, rank);
  assertMilliseconds({ deadlineMs, goneAfterMs, lateAfterMs });
  if (token === undefined ? !isLoopback(host) : token.length < SHORTEST_TOKEN)
    throw configError(
      'token',
      `a secret of at least ${SHORTEST_TOKEN} characters, as others reach ${host}`,
      'none or a shorter one',
    );
  return {
    ...options,
    host,
    deadlineMs,
    ttlMs,
    goneAfterMs,
    lateAfterMs,
    share: options.share ?? true,
    agreed: options.agreed ?? {},
    port: options.port ?? 0,
    clock: options.clock ?? systemClock,
  };
}
