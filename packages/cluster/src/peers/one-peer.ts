import { systemClock, type Clock } from '@tiered/core';
import {
  InterceptingDriver,
  type DriverCall,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import { inNewMemory } from '../in-new-memory.js';
import { checkedOptions } from '../options.js';
import { MemoryRecords, MemoryRegistry } from '../registry/memory-registry.js';
import { httpTransport } from '../serving/transport.js';
import { Peer } from './peer.js';
import { wantedRange } from './wanted-read.js';

/** Options of `OnePeerDriver`. */
export interface OnePeerOptions {
  /** The URL where the peer serves others: `http://HOST:PORT`. */
  readonly url: string;
  /** The token of the cluster. */
  readonly token?: string | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Reads objects from one other worker as a cluster does, to measure the path to it. It cannot list. A read of
 * an object that the peer does not keep rejects with `TIERED_NOT_FOUND`. The peer fetches the objects it is
 * the home of.
 */
export class OnePeerDriver extends InterceptingDriver {
  readonly #peer: Peer;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a token that is too short. */
  constructor({ url, token, clock = systemClock }: OnePeerOptions) {
    const registry = new MemoryRegistry(new MemoryRecords(clock));
    const options = checkedOptions({ registry, token, clock });
    const driver = httpTransport(options).connect(url);
    super(driver);
    const { deadlineMs } = options;
    const ignore = () => undefined;
    this.#peer = new Peer({
      ...{ rank: 0, url, owner: '', driver, deadlineMs, clock },
      ...{ onOut: ignore, onBack: ignore },
    });
  }

  /** Does not connect: the first read does. */
  override open(): Promise<void> {
    return Promise.resolve();
  }

  override async close(): Promise<void> {
    await this.#peer.close();
  }

  override read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return inNewMemory(key, options.length, (target) => this.readInto(key, target, options));
  }

  override async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    target.set(await this.#peer.read(wantedRange(key, target.byteLength, options), true));
    return target.byteLength;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}
