import type {
  DriverCapabilities,
  ListOptions,
  ObjectStat,
  OperationOptions,
  ReadOutcome,
  ReadRequest,
  StorageDriver,
} from '../driver/driver.js';
import { notFound, readEach } from '../driver/helpers.js';
import { configError, isTieredError } from '../support/errors.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/**
 * Shows only one object of a driver: a dataset that is a single file. The object keeps its key. It is found
 * without a listing, so it may be one of millions. Other keys are `TIERED_NOT_FOUND`, for writes too.
 *
 * **Order.** Put it inside the decorators that retry and limit, as a `PrefixDriver`.
 */
export class ObjectDriver extends InterceptingDriver {
  override readonly capabilities: DriverCapabilities;
  readonly #key: string;

  /**
   * @param key Its key in the driver.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an empty key.
   */
  constructor(inner: StorageDriver, key: string) {
    super(inner);
    if (key.length === 0) throw configError('object', 'a key', key);
    this.capabilities = Object.freeze({ ...inner.capabilities, list: true });
    this.#key = key;
  }

  /** Asks for this object only, so the driver need not support listing. */
  override async *list({ prefix = '', signal }: ListOptions): AsyncGenerator<readonly ObjectStat[], void> {
    if (!this.#key.startsWith(prefix)) return;
    try {
      yield [await this.inner.stat(this.#key, { signal })];
    } catch (error) {
      if (!isTieredError(error, 'TIERED_NOT_FOUND')) throw error;
    }
  }

  /** One call, so that the driver's threads can read the batch. */
  override readMany(
    requests: readonly ReadRequest[],
    options: OperationOptions,
  ): Promise<readonly ReadOutcome[]> {
    const areAllHere = requests.every(({ key }) => key === this.#key);
    return areAllHere ? this.inner.readMany(requests, options) : readEach(this, requests, options);
  }

  protected override intercept<T>({ operation, key, proceed }: DriverCall<T>): Promise<T> {
    if (key === '' || key === this.#key) return proceed();
    return Promise.reject(notFound(this, operation, key));
  }
}
