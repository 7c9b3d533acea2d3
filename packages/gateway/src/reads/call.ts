import type { FoundObject } from '../protocol/found-object.js';
import type { S3Request } from '../protocol/requests.js';
import type { ReadStorage } from './read-storage.js';

/** An authorized request, and what read operations need to know about the server. */
export interface ReadCall<Found extends FoundObject = FoundObject> {
  readonly request: S3Request<string>;
  readonly storage: ReadStorage<Found>;
  /** The most keys on a page of a listing. */
  readonly pageSize: number;
  /** Aborts the work when the answer is no longer wanted. */
  readonly signal: AbortSignal;
}
