import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock, type Clock } from '@tiered/core';
import {
  asRequest,
  errorAnswer,
  parseTarget,
  S3Error,
  textOfByteString,
  type ChecksumAlgorithm,
  type S3Credentials,
  type S3Request,
} from '@tiered/gateway/internal';
import { cutShort, inflict, insteadOf } from './faults/fault-effects.js';
import type { Fault, FaultPlan } from './faults/fault-plan.js';
import { Faults } from './faults/faults.js';
import type { Call } from './operations/call.js';
import { OPERATION_HANDLERS } from './operations/operations.js';
import { checkAccess } from './protocol/access.js';
import { checkBody, readBody } from './protocol/bodies.js';
import {
  OPERATION_TABLE,
  S3_OPERATIONS,
  type S3Operation,
  type S3RequestWithBody,
} from './protocol/requests.js';
import { send, type WholeAnswer } from './protocol/send.js';
import { Bucket, Storage, StoredObject } from './storage.js';

/** Options of `S3Server.start`. */
export interface S3ServerOptions {
  /** Default: a free port. */
  readonly port?: number;
  /** Default: made-up credentials without a session token. */
  readonly credentials?: S3Credentials;
  /** The most keys on a page of a listing. Default: 1000, as in S3. */
  readonly pageSize?: number;
  /** The smallest part of an upload, except for its last one, in bytes. Default: 5 MiB, as in S3. */
  readonly minPartBytes?: number;
  /**
   * Whether answers for whole objects carry a checksum if the client asks for one. It is the checksum that
   * the object was stored with, or else the one named here. Default: true, which stands for `crc64nvme`, as
   * in S3.
   */
  readonly checksums?: boolean | ChecksumAlgorithm;
  /**
   * Whether ETags are weak, as behind a proxy that compresses. If-Match never matches weak ETags. Default:
   * false.
   */
  readonly weakEtags?: boolean;
  /** How far the server's clock is ahead of the machine's, in milliseconds. Default: 0. */
  readonly clockSkewMs?: number;
  /** Whether requests must carry `x-amz-request-payer: requester`. Default: false. */
  readonly requesterPays?: boolean;
  /** The faults to inject. Default: none. */
  readonly faults?: FaultPlan;
  /** Seeds the faults. A whole number from 0 to 2^53 - 1. Default: 0. */
  readonly seed?: number;
  /** The clock for latencies. Dates do not follow it. Default: the clock of the machine. */
  readonly clock?: Clock;
}

/** Replaces a bucket for operations on all of them. */
const NO_BUCKET = new Bucket('', { isPublic: false, weakEtags: false });

/** The number of requests of each operation, and of unauthorized requests. */
export type S3RequestCounts = Record<S3Operation | 'refused', number>;

const DEFAULT_CREDENTIALS: S3Credentials = {
  accessKeyId: 'TIEREDTESTINGKEY',
  secretAccessKey: 'tiered/testing/secret',
};

/**
 * An S3 server in this process and in memory, on 127.0.0.1. It is for quick starts, demos and tests of
 * failures. It verifies signatures, answers errors as S3 does, and keeps nothing on disk. It is neither for
 * data that matters nor for the network.
 */
export class S3Server implements AsyncDisposable {
  readonly region = 'us-east-1';
  /** The credentials of accepted requests. May be replaced at any time, as when credentials are rotated. */
  credentials: S3Credentials;
  /** The faults. `faults.set(plan)` changes them. */
  readonly faults: Faults;
  /** The seed of the faults, for the message of a failing test. */
  readonly seed: number;
  readonly requests: S3RequestCounts;
  #inFlight = 0;
  #mostInFlight = 0;
  #identities = 0;
  #closing: Promise<void> | undefined;
  readonly #options: S3ServerOptions;
  readonly #storage = new Storage();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  /**
   * Starts a server. It runs until `close`.
   * @throws TieredError `TIERED_CONFIG_INVALID`; Node's own error if the port is taken.
   */
  static async start(options: S3ServerOptions = {}): Promise<S3Server> {
    const server = new S3Server(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
    });
    return server;
  }

  private constructor(options: S3ServerOptions) {
    this.#options = options;
    this.credentials = options.credentials ?? DEFAULT_CREDENTIALS;
    this.seed = options.seed ?? 0;
    this.faults = new Faults(this.seed, options.faults ?? []);
    const counts = ['refused' as const, ...S3_OPERATIONS].map((name) => [name, 0]);
    this.requests = Object.fromEntries(counts) as S3RequestCounts;
    // Connections stay open until one side closes them, because a test must not depend on how long it takes.
    this.#server = createServer(
      { keepAliveTimeout: 0 },
      (message, response) => void this.#serve(message, response),
    );
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** `http://127.0.0.1:PORT`. The bucket is named in the path, or before the host name. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests that have not been answered yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The largest number of concurrent requests so far. */
  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  /** Uploads that are neither completed nor aborted. */
  get openUploads(): number {
    return [...this.#storage.buckets.values()].reduce((sum, { uploads }) => sum + uploads.size, 0);
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Creates a bucket. Replaces one of the same name. Anyone may read from a `public` bucket. */
  createBucket(name: string, { public: isPublic = false }: { readonly public?: boolean } = {}): void {
    this.#storage.buckets.set(
      name,
      new Bucket(name, { isPublic, weakEtags: this.#options.weakEtags ?? false }),
    );
  }

  /** Stores an object. The bytes belong to the server from now on, and are not copied. */
  put(bucket: string, key: string, bytes: Uint8Array): void {
    this.#storage.bucket(bucket).put(key, new StoredObject(bytes, { lastModified: this.#now() }));
  }

  /** Returns the bytes of an object. They must not be written to. */
  get(bucket: string, key: string): Uint8Array | undefined {
    return this.#storage.bucket(bucket).get(key)?.bytes;
  }

  /** Removes an object. A missing one is no error. */
  delete(bucket: string, key: string): void {
    this.#storage.bucket(bucket).delete(key);
  }

  /** Returns the keys of a bucket, in the order of their UTF-8. */
  keys(bucket: string): string[] {
    return this.#storage.bucket(bucket).sortedKeys().map(textOfByteString);
  }

  /** Aborts all requests in flight, and closes every connection. Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const sockets = [...this.#sockets].map(
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    this.#server.closeAllConnections();
    await Promise.all([closed, ...sockets]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#mostInFlight = Math.max(this.#mostInFlight, ++this.#inFlight);
    const gone = new AbortController();
    response.once('close', () => {
      this.#inFlight--;
      gone.abort();
    });
    const requestId = this.#identity();
    const answer = await this.#answer(message, requestId, gone.signal).catch((error: unknown) =>
      errorAnswer(asS3Error(error), requestId),
    );
    if (gone.signal.aborted) return;
    const common = [
      'Date',
      new Date(this.#now()).toUTCString(),
      'Server',
      'tiered',
      'x-amz-request-id',
      requestId,
    ];
    if (this.#options.requesterPays === true) common.push('x-amz-request-charged', 'requester');
    send(response, answer, common, message.method === 'HEAD');
  }

  async #answer(message: IncomingMessage, requestId: string, gone: AbortSignal): Promise<WholeAnswer> {
    const raw = await readBody(message);
    const target = parseTarget(message, this.#storage.buckets.keys());
    const request = asRequest(target, OPERATION_TABLE);
    await this.#authenticate(request);
    this.requests[request.operation]++;
    const { latencyMs, fault } = this.faults.next(request.operation, request.key);
    if (latencyMs > 0) await (this.#options.clock ?? systemClock).sleep(latencyMs, gone);
    const carryOut = async () => {
      const checked = { ...request, ...(await checkBody(raw, request.headers)) };
      const call = this.#call(checked, fault, gone);
      const answer = insteadOf(fault, requestId) ?? (await OPERATION_HANDLERS[request.operation](call));
      return fault === undefined
        ? answer
        : inflict(fault, answer, { call, below: (n) => this.faults.below(n) });
    };
    try {
      return await carryOut();
    } catch (error) {
      const answer = errorAnswer(asS3Error(error), requestId);
      return fault === undefined ? answer : cutShort(fault, answer);
    }
  }

  async #authenticate(request: S3Request<S3Operation>): Promise<void> {
    const { requesterPays = false } = this.#options;
    const { credentials, region } = this;
    try {
      const now = this.#now();
      await checkAccess(request, { credentials, region, requesterPays, storage: this.#storage, now });
    } catch (error) {
      this.requests.refused++;
      throw error;
    }
  }

  #call(request: S3RequestWithBody, fault: Fault | undefined, gone: AbortSignal): Call {
    const { pageSize = 1000, minPartBytes = 5 * 1024 * 1024, checksums = true } = this.#options;
    return {
      request,
      region: this.region,
      buckets: [...this.#storage.buckets.keys()],
      bucket: request.operation === 'ListBuckets' ? NO_BUCKET : this.#storage.bucket(request.bucket),
      now: this.#now(),
      pageSize,
      minPartBytes,
      defaultChecksum: checksums === true ? 'crc64nvme' : checksums === false ? undefined : checksums,
      ignoreConditions: fault?.kind === 'ignoreIfMatch',
      emptyPage: fault?.kind === 'emptyPage',
      gone,
      newId: () => this.#identity(),
    };
  }

  #identity(): string {
    return (++this.#identities).toString(16).toUpperCase().padStart(16, '0');
  }

  /**
   * Milliseconds since 1970 by the machine's clock. Signatures contain the date, which an injected clock does
   * not know.
   */
  #now(): number {
    return performance.timeOrigin + systemClock.now() + (this.#options.clockSkewMs ?? 0);
  }
}

function asS3Error(error: unknown): S3Error {
  return error instanceof S3Error ? error : new S3Error(500, 'InternalError', String(error));
}
