import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';

/** The way of one node to the source: counts the bytes that the source gives. */
export class CountedSource extends InterceptingDriver {
  readonly #bytes = new Map<string, number>();

  /** Of one object. */
  bytesOf(key: string): number {
    return this.#bytes.get(key) ?? 0;
  }

  get bytes(): number {
    return [...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const result = await call.proceed();
    this.#bytes.set(call.key, this.bytesOf(call.key) + call.moved(result));
    return result;
  }
}
