import { systemClock, type Clock } from '@tiered/core';
import { assertCounts, assertMilliseconds, configError } from '@tiered/core/internal';
import { isLoopback } from '@tiered/gateway/internal';
import { assertTtl } from './registry/checks.js';
import type { Registry } from './registry/registry.js';

/** Options of `Cluster.join`. */
export interface ClusterOptions {
  /** Says which workers are present. Opened and closed by the cluster. */
  readonly registry: Registry;
  /** The rank of this worker, from 0, like torchrun's `RANK`. Default: the lowest free rank. */
  readonly rank?: number | undefined;
  /**
   * The number of workers, if it is fixed. Objects then have homes among all of them from the start, present
   * or not. Default: the workers the registry knows, so homes change when a worker joins, or has been gone
   * for `goneAfterMs`.
   */
  readonly size?: number | undefined;
  /**
   * The shared secret of the workers, which signs each request to a peer. At least 16 characters. Required
   * unless `host` is loopback. Without a token, all users of the machine can read there.
   */
  readonly token?: string | undefined;
  /** Whether this worker keeps objects for others. Default: true. */
  readonly share?: boolean | undefined;
  /**
   * Values that all workers have to agree on, each as text: the dataset and its version, the seed, a digest
   * of the configuration. Compared when a worker joins. Default: none.
   */
  readonly agreed?: Readonly<Record<string, string>> | undefined;
  /** The address to serve peers on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default: 0, a free port. */
  readonly port?: number | undefined;
  /**
   * The URL under which others reach this worker, such as `http://worker-3.training:9400`. Default: the URL
   * of `host` and the port; if `host` is all addresses, the address of the first network.
   */
  readonly advertise?: string | undefined;
  /**
   * Whole milliseconds, at least 1,000, after which a record expires unless it is renewed. It is renewed
   * three times as often. Default: 10,000. The rank of a killed worker becomes free after the same time.
   */
  readonly ttlMs?: number | undefined;
  /**
   * Milliseconds after which a worker without a record counts as gone for good. Other workers then become the
   * homes of its objects, unless `size` is given. Default: 60,000, so a restart changes no homes.
   */
  readonly goneAfterMs?: number | undefined;
  /**
   * Milliseconds a peer has to answer, including the time to fetch the object first. After that, the source
   * is read. Default: 5,000.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Milliseconds after which a read is hedged with a request to the source, for at most a twentieth of the
   * reads. Default: a fifth of `deadlineMs`.
   */
  readonly lateAfterMs?: number | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Aborts the join. */
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
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field. No message contains the token.
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
