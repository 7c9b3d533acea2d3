import { describe, expect, it } from 'vitest';
import { OperationScope, raceAbort } from '@tiered/core/internal';
import { settled } from '@tiered/core/testing';
import { untilAborted as passedOn } from '../src/support/abort.js';
import { listenersOn, outcomeOf } from './helpers.js';

const REASON = new Error('the caller lost interest');
const CLOSED = new Error('closed');

/** A promise, and what settles it. */
function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((res, rej) => {
    resolve = res;
    reject = rej;
  });
  return { promise, resolve, reject };
}

/** Work that ends when, and only when, its signal aborts. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

describe('raceAbort', () => {
  it('settles as the promise does, and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const failure = new Error('broken');
    expect(await raceAbort(Promise.resolve(7), signal)).toBe(7);
    await expect(raceAbort(Promise.reject(failure), signal)).rejects.toBe(failure);
    await settled();
    expect(listenersOn(signal)).toBe(0);
  });

  it('costs the signal one listener, however many wait', async () => {
    const controller = new AbortController();
    const never = new Promise<never>(() => undefined);
    const outcomes = Array.from({ length: 1000 }, () => outcomeOf(raceAbort(never, controller.signal)));
    const done = deferred();
    const settling = raceAbort(done.promise, controller.signal);
    expect(listenersOn(controller.signal)).toBe(1);
    done.resolve();
    await settling;
    controller.abort(REASON);
    await settled();
    expect(outcomes).toEqual(outcomes.map(() => ({ error: REASON })));
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('is the promise itself if there is no signal', async () => {
    expect(await raceAbort(Promise.resolve(7), undefined)).toBe(7);
  });

  it('rejects with the reason as soon as the signal aborts, and lets the work go on', async () => {
    const controller = new AbortController();
    const work = deferred<string>();
    const outcome = outcomeOf(raceAbort(work.promise, controller.signal));
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({ error: REASON });
    work.resolve('finished anyway');
    expect(await work.promise).toBe('finished anyway');
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('an abort wins over a promise that has a value already, if the signal had aborted before', async () => {
    const aborted = AbortSignal.abort(REASON);
    await expect(raceAbort(Promise.resolve(7), aborted)).rejects.toBe(REASON);
    expect(listenersOn(aborted)).toBe(0);
  });

  it('a failure of the abandoned work is no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const controller = new AbortController();
      const [first, second] = [deferred(), deferred()];
      const during = outcomeOf(raceAbort(first.promise, controller.signal));
      controller.abort(REASON);
      const before = outcomeOf(raceAbort(second.promise, controller.signal));
      for (const { reject } of [first, second]) reject(new Error('failed later'));
      await settled();
      expect([during, before]).toEqual([{ error: REASON }, { error: REASON }]);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});

describe('OperationScope', () => {
  it('passes on what the operation resolves to and rejects with', async () => {
    const scope = new OperationScope();
    const failure = new Error('broken');
    expect(await scope.run(undefined, () => Promise.resolve(7))).toBe(7);
    await expect(scope.run(undefined, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(scope.size).toBe(0);
  });

  it("aborts an operation with its caller's reason, and not the operations of others", async () => {
    const scope = new OperationScope();
    const caller = new AbortController();
    const mine = outcomeOf(scope.run(caller.signal, untilAborted));
    const theirs = outcomeOf(scope.run(new AbortController().signal, untilAborted));
    expect(scope.size).toBe(2);
    caller.abort(REASON);
    await settled();
    expect(mine).toEqual({ error: REASON });
    expect(theirs).toEqual({});
    expect(scope.size).toBe(1);
    await scope.close(CLOSED);
  });

  it('does not start an operation whose caller has aborted', async () => {
    const scope = new OperationScope();
    let started = false;
    const start = async () => {
      started = true;
    };
    await expect(scope.run(AbortSignal.abort(REASON), start)).rejects.toBe(REASON);
    expect(started).toBe(false);
  });

  it('close aborts every operation with the reason', async () => {
    const scope = new OperationScope();
    const outcomes = [undefined, new AbortController().signal].map((signal) =>
      outcomeOf(scope.run(signal, untilAborted)),
    );
    await scope.close(CLOSED);
    expect(outcomes).toEqual([{ error: CLOSED }, { error: CLOSED }]);
    expect(scope.size).toBe(0);
  });

  it('close waits until operations that ignore their signal have settled, however they settle', async () => {
    const scope = new OperationScope();
    const [first, second] = [deferred(), deferred()];
    const outcomes = [first, second].map(({ promise }) => outcomeOf(scope.run(undefined, () => promise)));
    const closing = outcomeOf(scope.close(CLOSED).then(() => 'closed'));
    await settled();
    expect(closing).toEqual({});
    first.resolve();
    await settled();
    expect(closing).toEqual({});
    second.reject(REASON);
    await settled();
    expect(closing).toEqual({ value: 'closed' });
    expect(outcomes[1]).toEqual({ error: REASON });
  });

  it('refuses operations from the moment of close, with the reason of the first close', async () => {
    const scope = new OperationScope();
    const work = deferred();
    const running = scope.run(undefined, () => work.promise);
    const closing = scope.close(CLOSED);
    let started = false;
    const start = async () => {
      started = true;
    };
    await expect(scope.run(undefined, start)).rejects.toBe(CLOSED);
    const again = scope.close(new Error('closed twice'));
    await expect(scope.run(undefined, start)).rejects.toBe(CLOSED);
    work.resolve();
    await Promise.all([running, closing, again]);
    await expect(scope.run(undefined, start)).rejects.toBe(CLOSED);
    expect(started).toBe(false);
  });

  it("leaves no listener on the caller's signal, however the operation ends", async () => {
    const scope = new OperationScope();
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i++) {
      await scope.run(signal, async () => i);
      await expect(scope.run(signal, () => Promise.reject(REASON))).rejects.toBe(REASON);
    }
    const outcome = outcomeOf(scope.run(signal, untilAborted));
    expect(listenersOn(signal)).toBe(1);
    await scope.close(CLOSED);
    expect(outcome).toEqual({ error: CLOSED });
    expect(listenersOn(signal)).toBe(0);
  });

  it("leaves no listener on the caller's signal if the operation throws before it gives a promise", async () => {
    const scope = new OperationScope();
    const { signal } = new AbortController();
    const running = scope.run(signal, () => {
      throw REASON;
    });
    await expect(running).rejects.toBe(REASON);
    expect(scope.size).toBe(0);
    expect(listenersOn(signal)).toBe(0);
  });
});

it('pieces may come from a list as well', async () => {
  const seen: number[] = [];
  for await (const item of passedOn([1, 2, 3], new AbortController().signal)) seen.push(item);
  expect(seen).toEqual([1, 2, 3]);
});
