import type { Hierarchy, ObjectStat, StorageDriver } from '@tiered/core';
import { multipartWritesOf, type MultipartWrites, type WrittenPart } from '@tiered/core/driver';
import { gathered, limited } from '@tiered/core/internal';
import type { LimitFunction } from 'p-limit';
import type { ReceivedBody } from '../protocol/received-body.js';
import { accessDenied, entityTooLarge, notImplemented } from '../protocol/s3-error.js';
import { saysNotFound, writeError } from './errors.js';
import { etagOf } from './facts.js';

/** Most bytes of a write in memory: a part, or an object of a storage that takes it whole. */
const MOST_IN_MEMORY = 64 * 1024 * 1024;

/** Keys that other programs may mistake for different ones. */
const AMBIGUOUS = /\0|(^|\/)\.{1,2}(\/|$)/;

/** The dependencies of writes to a bucket. */
export interface WriteParts {
  readonly hierarchy: Hierarchy;
  /** Prefix of the hierarchy's keys, for clients. */
  readonly prefix: string;
  /** Writes to the source. Already open. */
  readonly driver: StorageDriver;
  /** Prefix of the hierarchy's keys, for the driver. */
  readonly driverPrefix: string;
  /** Prefixes of the hierarchy's keys that may be written. */
  readonly prefixes: readonly string[];
  /** Shared by all buckets. */
  readonly turns: LimitFunction;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

/** How an object is written. */
export interface PutOptions {
  readonly ifAbsent: boolean;
  readonly signal: AbortSignal;
}

/** The object of an upload in parts, and the source's id of the upload. */
export interface UploadOf {
  readonly key: string;
  readonly uploadId: string;
}

/**
 * Passes writes below some prefixes on to the source of a hierarchy, a few at a time. When a write has ended,
 * the hierarchy knows its result, so that readers see it.
 */
export class HierarchyWrites {
  readonly #parts: WriteParts;
  readonly #uploads: MultipartWrites | undefined;

  constructor(parts: WriteParts) {
    this.#parts = parts;
    this.#uploads = multipartWritesOf(parts.driver);
  }

  /**
   * Writes an object as its bytes arrive, and returns its ETag. Undefined if the object is already gone
   * again.
   */
  put(key: string, body: ReceivedBody, { ifAbsent, signal }: PutOptions): Promise<string | undefined> {
    const { size } = body;
    if (this.#uploads === undefined && size > MOST_IN_MEMORY) throw entityTooLarge(MOST_IN_MEMORY);
    return this.#change(key, signal, async (objectKey) => {
      await this.#parts.driver.write(objectKey, body, { size, ifAbsent, signal }).catch((error: unknown) => {
        throw body.failure ?? error;
      });
    });
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.#change(key, signal, (objectKey) => this.#parts.driver.delete(objectKey, { signal }));
  }

  /** Begins an upload in parts, and returns its id. */
  createUpload(key: string, signal: AbortSignal): Promise<string> {
    return this.#pass(key, signal, (uploads, objectKey) => uploads.createUpload(objectKey, { signal }));
  }

  /** Passes a part on, and returns its ETag. Takes memory for it. */
  writePart(
    { key, uploadId }: UploadOf,
    { number, body }: { readonly number: number; readonly body: ReceivedBody },
    signal: AbortSignal,
  ): Promise<string> {
    if (body.size > MOST_IN_MEMORY) throw entityTooLarge(MOST_IN_MEMORY);
    return this.#pass(key, signal, async (uploads, objectKey) => {
      const bytes = await gathered(body, [], () => new Uint8Array(body.size));
      return uploads.writePart(objectKey, uploadId, { number, bytes }, { signal });
    });
  }

  /** Makes an object of parts, and returns its ETag, like `put`. */
  completeUpload(
    { key, uploadId }: UploadOf,
    parts: readonly WrittenPart[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.#change(key, signal, (objectKey) =>
      this.#offered.completeUpload(objectKey, uploadId, parts, { signal }),
    );
  }

  async abortUpload({ key, uploadId }: UploadOf, signal: AbortSignal): Promise<void> {
    await this.#pass(key, signal, (uploads, objectKey) =>
      uploads.abortUpload(objectKey, uploadId, { signal }),
    );
  }

  get #offered(): MultipartWrites {
    if (this.#uploads !== undefined) return this.#uploads;
    throw notImplemented('uploads in parts, since the storage behind has none. Write the object at once');
  }

  /**
   * Returns the hierarchy's key of an object that may be written.
   * @throws S3Error 403 `AccessDenied`.
   */
  innerOf(key: string): string {
    const { prefix, prefixes } = this.#parts;
    const inner = key.slice(prefix.length);
    const isNamed = key.startsWith(prefix) && prefixes.some((one) => inner.startsWith(one));
    if (isNamed && !AMBIGUOUS.test(inner)) return inner;
    const named = prefixes.map((one) => prefix + one).join(', ');
    throw accessDenied(
      `This endpoint writes only below ${named}. Write to the source of the bucket instead.`,
    );
  }

  /** Passes on a request that neither creates nor removes an object. */
  async #pass<T>(
    key: string,
    signal: AbortSignal,
    work: (uploads: MultipartWrites, objectKey: string) => Promise<T>,
  ): Promise<T> {
    const objectKey = this.#parts.driverPrefix + this.innerOf(key);
    const uploads = this.#offered;
    try {
      return await limited(this.#parts.turns, signal, () => work(uploads, objectKey));
    } catch (error) {
      throw signal.aborted ? error : writeError(error);
    }
  }

  /**
   * Changes an object and then updates it in the hierarchy, even after a failure, since an answer may have
   * been lost. Returns the object's ETag, if there is an object.
   */
  #change(
    key: string,
    signal: AbortSignal,
    work: (objectKey: string) => Promise<void>,
  ): Promise<string | undefined> {
    const { driverPrefix, turns } = this.#parts;
    const inner = this.innerOf(key);
    return limited(turns, signal, async () => {
      try {
        await work(driverPrefix + inner);
      } catch (error) {
        await this.#seen(inner).catch(() => undefined);
        throw signal.aborted ? error : writeError(error);
      }
      const object = await this.#seen(inner);
      return object && etagOf(object.version);
    });
  }

  async #seen(inner: string): Promise<ObjectStat | undefined> {
    const { hierarchy, closing } = this.#parts;
    try {
      return await hierarchy.revalidate(inner, { signal: closing });
    } catch (error) {
      if (saysNotFound(error)) return undefined;
      throw writeError(error);
    }
  }
}
