import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { PlacementHost } from '../placement/placement.js';
import { AskedVersions } from '../read/asked-versions.js';
import { ReadPath, type ReadPathParts } from '../read/read-path.js';
import { CopyPlaces } from '../tier/copy-places.js';
import { TierTally } from '../tier/tier-tally.js';
import { HierarchyPlacementHost, type HierarchyPlacementHostParts } from './placement-host.js';

/** The parts that the reads and the placement of a hierarchy share. */
type Shared = 'places' | 'tally' | 'asked';

/** The two parts that serve the objects of a namespace: one for the reads, the other for the placement. */
export interface Serving {
  readonly path: ReadPath;
  readonly host: PlacementHost;
}

/** Assembles the read path of a namespace, and the host that its placement gets. */
export function serve(
  namespace: MetadataContainer,
  parts: Omit<ReadPathParts & HierarchyPlacementHostParts, Shared | 'namespace'>,
): Serving {
  const { events } = parts;
  const places = new CopyPlaces(namespace, parts.tiers.length, (id, place) =>
    events.emit('moved', { id, place }),
  );
  const shared = { namespace, places, tally: new TierTally(events), asked: new AskedVersions() };
  return {
    path: new ReadPath({ ...parts, ...shared }),
    host: new HierarchyPlacementHost({ ...parts, ...shared }),
  };
}
