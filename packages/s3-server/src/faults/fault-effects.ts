import {
  contentRange,
  errorDocument,
  lengthOf,
  S3Error,
  xmlAnswer,
  type Range,
} from '@tiered/gateway/internal';
import type { Call } from '../operations/call.js';
import { replaceHeader, type WholeAnswer } from '../protocol/send.js';
import { StoredObject } from '../storage.js';
import type { Fault } from './fault-plan.js';

/** The context of effects. */
export interface EffectContext {
  readonly call: Call;
  /** Draws a whole number below the bound, using the seed. */
  readonly below: (bound: number) => number;
}

/** Returns the answer as changed by the fault. An answer that the fault does not concern stays unchanged. */
export function inflict(fault: Fault, answer: WholeAnswer, { call, below }: EffectContext): WholeAnswer {
  switch (fault.kind) {
    case 'shortBody':
      return answer.body === undefined ? answer : { ...answer, body: answer.body.subarray(0, fault.bytes) };
    case 'wrongRange':
      return withWrongRange(answer);
    case 'wrongEtag':
      return { ...answer, headers: replaceHeader(answer.headers, 'ETag', `"${'0'.repeat(32)}"`) };
    case 'corrupt':
      return withWrongByte(answer, below);
    case 'changeMidObject':
      if (answer.content !== undefined) {
        call.bucket.put(call.request.key, inverted(answer.content.object, call.now));
      }
      return cutShort(fault, answer);
    case 'reset':
    case 'truncate':
      return cutShort(fault, answer);
    // These faults take effect before the answer, or in its place.
    case 'status':
    case 'latency':
    case 'ignoreIfMatch':
    case 'emptyPage':
    case 'errorIn200':
      return answer;
  }
}

/** Cuts the answer short, if the fault does that. It may also be the answer to a failed request. */
export function cutShort(fault: Fault, answer: WholeAnswer): WholeAnswer {
  if (fault.kind === 'truncate') return cutAfter(answer, fault.bytes, 'close');
  if (fault.kind === 'reset' || fault.kind === 'changeMidObject')
    return cutAfter(answer, fault.afterBytes, 'reset');
  return answer;
}

/** Returns the answer that the fault gives in place of the operation, if it does that. */
export function insteadOf(fault: Fault | undefined, requestId: string): WholeAnswer | undefined {
  if (fault?.kind === 'status') {
    const { status, code, retryAfter } = fault;
    const headers = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    throw new S3Error(status, code, 'Injected by the fault plan.', { headers });
  }
  if (fault?.kind !== 'errorIn200') return undefined;
  const error = new S3Error(200, 'InternalError', 'We encountered an internal error. Please try again.');
  return xmlAnswer(errorDocument(error, requestId));
}

function cutAfter(answer: WholeAnswer, bytes: number, by: 'reset' | 'close'): WholeAnswer {
  const whole = bytes >= (answer.body?.byteLength ?? 0) && !(by === 'reset' && bytes === 0);
  return whole ? answer : { ...answer, cut: { bytes, by } };
}

function withWrongRange(answer: WholeAnswer): WholeAnswer {
  const { content, status } = answer;
  if (content === undefined || status !== 206) return answer;
  const { bytes } = content.object;
  const size = bytes.byteLength;
  const { start, end } = content.range;
  const shift = end + 1 < size ? 1 : start > 0 ? -1 : 0;
  const range: Range = { start: start + shift, end: end + shift };
  const value = shift === 0 ? contentRange({ start: 1, end: size }, size + 1) : contentRange(range, size);
  return {
    ...answer,
    headers: replaceHeader(answer.headers, 'Content-Range', value),
    body: bytes.subarray(range.start, range.start + lengthOf(range)),
  };
}

function withWrongByte(answer: WholeAnswer, below: (bound: number) => number): WholeAnswer {
  if (answer.body === undefined || answer.body.byteLength === 0) return answer;
  const body = Uint8Array.from(answer.body);
  const at = below(body.byteLength);
  body[at] = (body[at] ?? 0) ^ (1 << below(8));
  return { ...answer, body };
}

function inverted({ bytes }: StoredObject, now: number): StoredObject {
  return new StoredObject(
    bytes.map((byte) => ~byte),
    { lastModified: now },
  );
}
