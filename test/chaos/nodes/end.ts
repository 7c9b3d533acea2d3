import type { Cluster } from '@tiered/cluster';
import type { Checksum } from '@tiered/core/internal';
import { loadChecksum } from '@tiered/core/internal';
import { PlanHomes } from '../../../packages/cluster/src/homes/plan-homes.js';
import { RendezvousHomes } from '../../../packages/cluster/src/homes/rendezvous.js';
import type { MemberRecord } from '../../../packages/cluster/src/member.js';
import { KEYS, type Key } from '../simulated/dataset.js';
import { Finding } from '../simulated/finding.js';
import { planOf, type Node } from './node.js';
import type { SimulatedRegistry } from '../simulated/registry.js';
import { AMPLE } from './steps.js';

/** Nodes that have a record, by their ranks. Another one has taken the rank of the others, or they left. */
function membersOf(nodes: readonly Node[], registry: SimulatedRegistry): Map<number, Node> {
  const members = new Map<number, Node>();
  for (const { record } of registry.records.all()) {
    const { rank, url, share } = record as MemberRecord;
    const node = nodes.find(
      ({ cluster, hasLeft }) =>
        !hasLeft && cluster?.rank === rank && (share ? cluster.endpoint === url : !sharesOf(cluster)),
    );
    if (node !== undefined) members.set(rank, node);
  }
  return members;
}

const sharesOf = (cluster: { readonly endpoint: string | undefined }) => cluster.endpoint !== undefined;

/** All members know each other. */
export function assertMembers(nodes: readonly Node[], registry: SimulatedRegistry): void {
  const records = registry.records.all();
  const members = membersOf(nodes, registry);
  if (members.size !== records.length)
    throw new Finding(
      'members',
      `of the records ${JSON.stringify(records.map(({ record }) => record))} only those of ${[...members.keys()].join()} are of nodes that run: ${nodes.map(({ options, cluster }) => `machine ${options.who} has rank ${cluster?.rank}, ${cluster?.endpoint}`).join(', ')}`,
    );
  for (const [rank, { cluster }] of members) {
    const known = cluster?.members.map((member) => member.rank).toSorted((a, b) => a - b) ?? [];
    const others = [...members.keys()].filter((other) => other !== rank).toSorted((a, b) => a - b);
    if (known.join() !== others.join())
      throw new Finding('members', `rank ${rank} knows ${known.join()}, and there are ${others.join()}`);
  }
}

/** What says where objects are. */
export interface Placing {
  readonly registry: SimulatedRegistry;
  readonly isPlanned: boolean;
  readonly size: number | undefined;
}

/** The source is asked for nothing that its home keeps. */
export async function assertKeptAreShared(
  nodes: readonly Node[],
  { registry, isPlanned, size }: Placing,
  readAll: () => Promise<void>,
): Promise<void> {
  const members = membersOf(nodes, registry);
  const sharing = [...members].filter(([, { options }]) => options.share).map(([rank]) => rank);
  const ranks = size === undefined ? sharing : Array.from({ length: size }, (_, rank) => rank);
  const checksum: Checksum = await loadChecksum();
  const hashOf = (key: string) => checksum.text(key);
  const homes = isPlanned ? new PlanHomes(planOf(0)) : new RendezvousHomes(ranks, hashOf);
  const keeperOf = (key: Key) => members.get(homes.of(key)[0] ?? -1);
  const kept = new Map(KEYS.map((key) => [key, keeps(keeperOf(key), key)]));
  const late = (node: Node) => node.cluster?.stats().late ?? 0;
  const before = [...members.values()].map((node) => ({
    node,
    late: late(node),
    bytes: new Map(KEYS.map((key) => [key, node.source.bytesOf(key)])),
  }));
  await readAll();
  // Some answer took so long that the source was asked as well.
  if (before.some((one) => late(one.node) > one.late)) return;
  for (const { node, bytes } of before)
    for (const key of KEYS) {
      const version = kept.get(key);
      const asked = node.source.bytesOf(key) - (bytes.get(key) ?? 0);
      if (asked === 0 || version === undefined || node.versionOf(key) !== version) continue;
      const { options, cluster } = node;
      if (isOfOthers(cluster, homes.of(key)[0])) continue;
      throw new Finding(
        'kept elsewhere',
        `rank ${cluster?.rank} of machine ${options.who} asked the source for ${asked} bytes of ${key}, which machine ${keeperOf(key)?.options.who} keeps`,
      );
    }
}

/** Whether a peer is left alone because its versions were others, again and again. */
function isOfOthers(cluster: Cluster | undefined, rank: number | undefined): boolean {
  const peer = cluster?.stats().perPeer.find((one) => one.rank === rank);
  return peer?.isAsked === false && peer.changed > 0;
}

/** The version of an object that a node will go on keeping. */
function keeps(node: Node | undefined, key: Key): string | undefined {
  if (node?.options.share !== true || node.life?.isSound !== true) return undefined;
  const { ram, quota, hasDisk } = node.options;
  const isAmple = ram === AMPLE || (ram === 0 && hasDisk && quota === AMPLE);
  return isAmple ? node.kept(key) : undefined;
}
