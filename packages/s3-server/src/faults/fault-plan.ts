import type { S3Operation } from '../protocol/requests.js';

/**
 * What goes wrong with an answer. Bytes are those of the answer's body that still arrive.
 *
 * - `status`: the operation does not happen; an error with this status and code instead.
 * - `latency`: the operation waits first; log-normal around `medianMs`, with 1 in 100 above `p99OverMedian`
 *   times as much. Default of that: 1, every one takes the median.
 * - `reset`: the operation happens, and the connection is reset after so many bytes. With 0 nothing of the
 *   answer arrives, as when a write's answer gets lost; a body that is no longer than that arrives whole.
 *   What the kernel has not delivered at the reset is lost too.
 * - `truncate`: the connection ends after so many bytes, fewer than Content-Length says.
 * - `shortBody`: so many bytes and a Content-Length that says so, but a Content-Range of more.
 * - `wrongRange`: a range of the same length, one byte further on (or back, at the end), and a Content-Range
 *   that says so. For the range that is the whole object only the Content-Range is wrong.
 * - `wrongEtag`: the right bytes under another ETag.
 * - `changeMidObject`: the object is replaced by one of the same size whose bytes are inverted, and the
 *   connection is reset as `reset` does.
 * - `corrupt`: one byte, anywhere, is another one.
 * - `ignoreIfMatch`: If-Match and If-None-Match count for nothing.
 * - `emptyPage`: a page of a listing holds nothing, and says that it is not the last.
 * - `errorIn200`: a complete upload is answered by 200 and an error in the body; nothing was published.
 */
export type Fault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly code: string;
      /** Seconds, or a date, as the header Retry-After. */
      readonly retryAfter?: number | string;
    }
  | { readonly kind: 'latency'; readonly medianMs: number; readonly p99OverMedian?: number }
  | { readonly kind: 'reset'; readonly afterBytes: number }
  | { readonly kind: 'truncate'; readonly bytes: number }
  | { readonly kind: 'shortBody'; readonly bytes: number }
  | { readonly kind: 'wrongRange' }
  | { readonly kind: 'wrongEtag' }
  | { readonly kind: 'changeMidObject'; readonly afterBytes: number }
  | { readonly kind: 'corrupt' }
  | { readonly kind: 'ignoreIfMatch' }
  | { readonly kind: 'emptyPage' }
  | { readonly kind: 'errorIn200' };

/**
 * A fault, and the requests that it befalls. Requests without the right to ask are refused before, and do not
 * count.
 */
export interface FaultRule {
  /** Default: every operation that the fault can befall. */
  readonly operation?: S3Operation;
  /** This key, or all that match. Default: all, and requests without a key. */
  readonly key?: string | RegExp;
  /** How often at most. Default: no bound. */
  readonly times?: number;
  /** From 0 to 1, drawn for each request that matches. Default: 1. */
  readonly probability?: number;
  /** How many requests that match are let through first. Default: 0. */
  readonly after?: number;
  readonly fault: Fault;
}

/**
 * Rules in the order of their rank: of those that match a request the first counts, and besides it every
 * latency.
 */
export type FaultPlan = readonly FaultRule[];

const READS: readonly S3Operation[] = ['GetObject'];

/** Operations that a fault can befall; undefined is all. */
export const BEFALLS: Readonly<Record<Fault['kind'], readonly S3Operation[] | undefined>> = {
  status: undefined,
  latency: undefined,
  reset: undefined,
  truncate: undefined,
  shortBody: READS,
  wrongRange: READS,
  wrongEtag: ['GetObject', 'HeadObject', 'PutObject'],
  changeMidObject: READS,
  corrupt: READS,
  ignoreIfMatch: ['GetObject', 'HeadObject', 'PutObject', 'CompleteMultipartUpload'],
  emptyPage: ['ListObjectsV2'],
  errorIn200: ['CompleteMultipartUpload'],
};
