import { raceAbort } from '@tiered/core/internal';
import type { ObjectRef } from '@tiered/core/placement';
import { OtherFetch, type FetchTurn } from '../tier/fetch-turns.js';
import type { Fills } from './fills.js';

/** A copy that another process has made, or the turn to fetch, which the caller must end or pass on. */
export type TurnOrCopy<T> = { readonly copy: T } | { readonly turn: FetchTurn | undefined };

/**
 * Takes the turn to fetch an object, then looks for a copy that another process has made until then. Waits
 * while another process fetches the object; see `FetchTurns`. An abort ends the wait and the turn at once.
 * @param look Resolves to undefined if there is no copy. `isInTurn`: it must not be older than the turn.
 */
export async function turnOrCopy<T>(
  fills: Pick<Fills, 'turnFor'>,
  object: ObjectRef,
  look: (isInTurn: boolean) => Promise<T | undefined>,
  closing: AbortSignal,
  signal: AbortSignal | undefined,
): Promise<TurnOrCopy<T>> {
  const once = async (turn: FetchTurn | OtherFetch | undefined): Promise<TurnOrCopy<T> | undefined> => {
    const mine = turn instanceof OtherFetch ? undefined : turn;
    // Raced here, so that an abort ends the turn, whatever the look comes to.
    const copy = await raceAbort(look(mine !== undefined), signal).catch((error: unknown) => {
      mine?.end();
      throw error;
    });
    if (copy === undefined) return turn instanceof OtherFetch ? undefined : { turn };
    mine?.end();
    return { copy };
  };
  const turn = fills.turnFor(object);
  const found = await once(turn);
  if (!(turn instanceof OtherFetch)) return found ?? { turn: undefined };
  return found ?? turn.until(() => once(fills.turnFor(object)), closing, signal);
}
