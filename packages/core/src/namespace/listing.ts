import type { ObjectStat } from '../driver/driver.js';
import type { Clock } from '../support/clock.js';
import type { MetadataContainer } from './metadata-container.js';

/** Entries that are looked at for a page: so many keep the event loop for well below a millisecond. */
const PAGE = 1000;

/** The known objects whose keys begin with a prefix, in pages, with a turn of the event loop after each. */
export async function* listed(
  namespace: MetadataContainer,
  clock: Clock,
  prefix = '',
): AsyncGenerator<readonly ObjectStat[], void, undefined> {
  for (let first = 0; first < namespace.count; first += PAGE) {
    const page: ObjectStat[] = [];
    for (let id = first; id < Math.min(first + PAGE, namespace.count); id++)
      if (namespace.isKnown(id) && namespace.keyOf(id).startsWith(prefix)) page.push(namespace.describe(id));
    yield page;
    await clock.turn();
  }
}
