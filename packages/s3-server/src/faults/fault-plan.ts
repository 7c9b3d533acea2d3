import type { S3Operation } from '../protocol/requests.js';

/**
 * The fault of an answer. Numbers of bytes say how much of the answer's body still arrives.
 *
 * - `status`: the operation does not happen. An error with this status and code is answered instead.
 * - `latency`: the operation waits first. The wait is log-normal around `medianMs`; 1 in 100 is longer than
 *   `p99OverMedian` times the median. `p99OverMedian` is 1 by default, and then every wait is the median.
 * - `reset`: the operation happens, and the connection is reset after this many bytes. With 0, nothing of the
 *   answer arrives, as when the answer to a write gets lost. A body that is not longer arrives whole. Bytes
 *   that the kernel has not delivered at the reset are lost too.
 * - `truncate`: the connection ends after this many bytes, fewer than Content-Length says.
 * - `shortBody`: this many bytes arrive with the right Content-Length, but with a Content-Range of more.
 * - `wrongRange`: a range of the same length, one byte further on, or one byte back at the end of the object.
 *   Content-Range says so. If the range is the whole object, only Content-Range is wrong.
 * - `wrongEtag`: the right bytes with another ETag.
 * - `changeMidObject`: the object is replaced by one of the same size with all bits inverted, and the
 *   connection is reset as by `reset`.
 * - `corrupt`: one bit, anywhere, is wrong.
 * - `ignoreIfMatch`: If-Match and If-None-Match have no effect.
 * - `emptyPage`: a page of a listing is empty, and says that it is not the last.
 * - `errorIn200`: the completion of an upload is answered with 200 and an error in the body. Nothing was
 *   published.
 */
export type Fault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly code: string;
      /** The value of the header Retry-After: seconds, or a date. */
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

/** A fault, and the requests that it affects. Unauthorized requests are refused earlier, and do not count. */
export interface FaultRule {
  /** Default: every operation that the fault can affect. */
  readonly operation?: S3Operation;
  /** This key, or all keys that match. Default: every request, with or without a key. */
  readonly key?: string | RegExp;
  /** The maximum number of times that it happens. Default: no limit. */
  readonly times?: number;
  /** From 0 to 1, drawn for each request that matches. Default: 1. */
  readonly probability?: number;
  /** Number of matching requests to let through first. Default: 0. */
  readonly after?: number;
  readonly fault: Fault;
}

/**
 * Rules in order of precedence. A request gets the fault of the first rule that matches, and in addition
 * every matching latency.
 */
export type FaultPlan = readonly FaultRule[];

const READS: readonly S3Operation[] = ['GetObject'];

/** Operations that a fault can affect. Undefined means all. */
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
