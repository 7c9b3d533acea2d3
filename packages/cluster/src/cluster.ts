import { randomUUID } from 'node:crypto';
import type { Hierarchy, PeerModel, StorageDriver } from '@tiered/core';
import { configError, invariant, loadChecksum, onAbort, SafeEmitter } from '@tiered/core/internal';
import type { PlacementPolicy } from '@tiered/tiering';
import { MovedHomes, type HashOf, type Homes } from './homes/homes.js';
import { PlanHomes, type HomePlan } from './homes/plan-homes.js';
import { RendezvousHomes } from './homes/rendezvous.js';
import { Members, type Member } from './membership/members.js';
import { checkedOptions, type CheckedOptions, type ClusterOptions } from './options.js';
import { NO_COUNTS, Peer, sumOfCounts, type PeerCounts } from './peers/peer.js';
import { PeersDriver, type AskedPeer, type PeerReadCounts } from './peers/peers-driver.js';
import { RoomOf } from './serving/room-of.js';
import { httpTransport, type Listener, type Transport } from './serving/transport.js';

/** What a cluster tells of. */
export interface ClusterEvents {
  /** Workers came, went or changed: those that are there now, this one left out. */
  members: (members: readonly Member[]) => void;
  /** A peer is left alone for a while, because it failed or its bytes were wrong. */
  peerOut: (event: { readonly rank: number; readonly retryInMs: number; readonly error: unknown }) => void;
  /** A peer is asked again. */
  peerBack: (event: { readonly rank: number }) => void;
  /** The registry cannot be reached. All go on with the members that they know. */
  registryLost: (event: { readonly error: unknown }) => void;
  /** The registry can be reached again. */
  registryFound: () => void;
}

/** A peer, and what came of asking it since it is known. */
export interface PeerStats extends PeerCounts {
  readonly rank: number;
  readonly url: string;
  /** False while it is left alone. */
  readonly isAsked: boolean;
}

/** What a worker knows of its cluster, and what it read below its own tiers. */
export interface ClusterStats extends PeerReadCounts {
  readonly rank: number;
  /** Workers that are there, with this one. */
  readonly members: number;
  /** What came of asking peers, those included that have left or were replaced. */
  readonly asked: PeerCounts;
  /** The peers that are known now. */
  readonly perPeer: readonly PeerStats[];
}

/** Options of `Cluster.source`. */
export interface ClusterSourceOptions {
  /**
   * Who keeps what, from the seed. All workers must have the same. Default: none, so that hashing names a
   * home for each object.
   */
  readonly plan?: HomePlan | undefined;
  /**
   * Says what the source gives sooner than a peer: that is read from the source (HDMLP, section 5.2), and
   * counted as `preferred`. So the source may give a byte more than once. Default: none. Peers are asked
   * first, whatever they cost, which spares the source.
   */
  readonly model?: PeerModel | undefined;
}

/**
 * The workers of a training as one cache (HDMLP, section 5). What this worker's tiers miss is read from the
 * worker that keeps it, and from the source only if nobody does.
 *
 * Every worker knows who keeps what without a message: from a plan that follows from the seed, or by hashing.
 * A worker that is asked for an object which it keeps, and does not have yet, fetches it for both. So the
 * source gives each byte once to the whole cluster. A worker that is asked for anything else answers from its
 * tiers, or not at all. So no request goes on to a third worker, and nobody waits for a circle.
 *
 * A peer that is down, slow or wrong fails no read: the source is read. A peer is left alone for a while
 * after repeated failures, and at once after wrong bytes. While the registry is lost, members are remembered.
 */
export class Cluster extends SafeEmitter<ClusterEvents> implements AsyncDisposable {
  readonly #options: CheckedOptions;
  readonly #transport: Transport;
  readonly #hashOf: HashOf;
  readonly #members: Members;
  readonly #peers = new Map<number, Peer>();
  /** Peers that were replaced or left, on their way to be closed. */
  readonly #closing = new Map<Peer, Promise<void>>();
  /** What came of asking those that are closed. */
  #askedOfFormer = NO_COUNTS;
  /** Those of now, without the former ones. */
  #present: Homes | undefined;
  /** Those before, the last ones first. */
  #formers: readonly Homes[] = [];
  #homes: Homes = NOBODY;
  #plan: HomePlan | undefined;
  #ranks = '';
  #driver: PeersDriver | undefined;
  #serving: Listener | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Takes a rank among the workers.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, for workers that agree on
   * something else, the difference named, and for a rank that another worker keeps; `TIERED_UNAVAILABLE` if
   * the registry cannot be reached. Abort rejects with `signal.reason`.
   */
  static async join(options: ClusterOptions): Promise<Cluster> {
    return Cluster.joinBy(httpTransport, options);
  }

  /** @internal As `join`, of workers that reach each other in another way. */
  static async joinBy(
    transportOf: (options: CheckedOptions) => Transport,
    options: ClusterOptions,
  ): Promise<Cluster> {
    const checked = checkedOptions(options);
    const checksum = await loadChecksum();
    const cluster = new Cluster(checked, transportOf(checked), (key) => checksum.text(key));
    try {
      await cluster.#join();
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  private constructor(options: CheckedOptions, transport: Transport, hashOf: HashOf) {
    super();
    this.#options = options;
    this.#transport = transport;
    this.#hashOf = hashOf;
    const { registry, size = Infinity, ttlMs, goneAfterMs, clock } = options;
    this.#members = new Members({
      registry,
      owner: randomUUID(),
      size,
      ttlMs,
      goneAfterMs,
      clock,
      onChange: () => this.#changed(),
      onRegistry: (error) =>
        error === undefined ? this.emit('registryFound') : this.emit('registryLost', { error }),
    });
  }

  async #join(): Promise<void> {
    const { agreed, rank, signal, size, share } = this.#options;
    const all = size === undefined ? agreed : { ...agreed, size: String(size) };
    await this.#members.join({ url: '', share, plan: this.#planId, agreed: all }, rank, signal);
    this.#changed();
  }

  /** The number of this worker. */
  get rank(): number {
    return this.#members.rank;
  }

  /** The other workers that are there. */
  get members(): readonly Member[] {
    return [...this.#members.others.values()].filter(({ isThere }) => isThere);
  }

  /** Where peers reach this worker, while it serves. */
  get endpoint(): string | undefined {
    return this.#serving?.url;
  }

  /**
   * Makes the source that all workers share, for the hierarchy of this worker. Its identity is that of the
   * driver.
   * @param driver The source itself, which all workers can read.
   * @throws TieredError `TIERED_CONFIG_INVALID` if there is one already: a cluster is of one dataset.
   */
  source(driver: StorageDriver, { plan, model }: ClusterSourceOptions = {}): PeersDriver {
    if (this.#driver !== undefined)
      throw configError('source', 'one source for each cluster', 'a second one');
    const { lateAfterMs, clock } = this.#options;
    if (plan !== undefined) this.usePlan(plan);
    const peersOf = (key: string) => this.#peersOf(key);
    this.#driver = new PeersDriver(driver, { peersOf, lateAfterMs, model, clock });
    return this.#driver;
  }

  /**
   * Goes by another plan from now on, such as the one of a training that has more workers or fewer now.
   * Workers that keep an object by the present one are asked before its new home. Others are told, see
   * `gathered`.
   */
  usePlan(plan: HomePlan): void {
    // Nothing was placed by hashing, if this is the first plan.
    if (this.#plan === undefined) [this.#present, this.#formers] = [undefined, []];
    this.#plan = plan;
    this.#move(new PlanHomes(plan));
    // The next renewal tells it, if this one fails.
    void this.#members.tell({ plan: this.#planId });
  }

  /**
   * Waits for the others: until all of `size` workers serve, and follow the plan that this one does. A worker
   * that begins before reads from the source what others would have fetched for it.
   * @returns Whether they are all there; false once `timeoutMs` have passed. Without `size` it is true at
   * once. Abort rejects with `signal.reason`.
   */
  async gathered({
    timeoutMs,
    signal,
  }: {
    timeoutMs: number;
    signal?: AbortSignal | undefined;
  }): Promise<boolean> {
    const { size = 0, clock } = this.#options;
    const isThere = ({ url, share, plan = this.#planId }: Member) =>
      (url !== '' || !share) && plan === this.#planId;
    const areAllThere = () => this.members.filter(isThere).length >= size - 1;
    const ended = new AbortController();
    const stopListening = onAbort(signal, (reason) => ended.abort(reason));
    const look = () => {
      if (areAllThere()) ended.abort(new Error('All are there.'));
    };
    this.on('members', look);
    try {
      if (!areAllThere()) await clock.sleep(timeoutMs, ended.signal).catch(() => undefined);
      signal?.throwIfAborted();
      return areAllThere();
    } finally {
      stopListening();
      this.off('members', look);
    }
  }

  /**
   * Makes a policy for a worker that shares without a plan: it keeps the objects whose home it is, where
   * `inner` says, and leaves the others to their homes. A worker that does not share keeps what `inner` says.
   * With a plan, use `frequency`.
   */
  policy(inner: PlacementPolicy): PlacementPolicy {
    if (!this.#options.share) return inner;
    return {
      ...inner,
      name: `${inner.name}, of its own`,
      place: (object, tiers) => (this.#isHome(object.key) ? inner.place(object, tiers) : undefined),
    };
  }

  /**
   * Lets peers read from a hierarchy until it is closed, or the cluster is. They get what is on its tiers,
   * and what it is the home of. Needs `share`; does nothing without.
   * @param hierarchy Open, with `source` as its source.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an address that cannot be; Node's own error for a taken
   * port.
   */
  async serve(hierarchy: Hierarchy): Promise<void> {
    const { share, clock } = this.#options;
    invariant(this.#serving === undefined, 'a cluster serves one hierarchy');
    if (!share) return;
    const room = new RoomOf(hierarchy, clock);
    // A plan has counted the room.
    const fetches = (key: string, bytes: number) =>
      this.#isHome(key) && (this.#plan !== undefined || room.has(bytes));
    this.#serving = await this.#transport.listen(hierarchy, fetches);
    hierarchy.once('closed', () => void this.#stopServing());
    await this.#members.tell({ url: this.#serving.url });
  }

  /** Returns what was read, and of whom. Cheap. */
  stats(): ClusterStats {
    const nothing = { reads: 0, bytes: 0 };
    const none = { peers: nothing, source: nothing, inVain: 0, preferred: 0, late: 0 };
    const counts = this.#driver?.counts ?? none;
    const peers = [...this.#peers.values()];
    return {
      ...counts,
      rank: this.rank,
      members: this.members.length + 1,
      asked: [...peers, ...this.#closing.keys()]
        .map((peer) => peer.counts)
        .reduce(sumOfCounts, this.#askedOfFormer),
      perPeer: peers.map((peer) => ({
        rank: peer.rank,
        url: peer.url,
        isAsked: peer.isAsked,
        ...peer.counts,
      })),
    };
  }

  /**
   * Leaves: serves nobody, asks nobody, and takes its record from the registry, as far as that can be
   * reached. The driver goes on with the source. Idempotent.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // So that others ask somebody else before nobody listens any more.
    if (this.#serving !== undefined) await this.#members.tell({ url: '', share: false });
    await this.#serving?.close();
    await this.#members.leave();
    for (const peer of this.#peers.values()) this.#drop(peer);
    await Promise.all(this.#closing.values());
  }

  async #stopServing(): Promise<void> {
    if (this.#closed !== undefined) return;
    await this.#members.tell({ url: '' });
    await this.#serving?.close();
  }

  get #planId(): string {
    return this.#plan === undefined ? '' : (this.#plan.id ?? 'plan');
  }

  /** The worker to fetch an object for all. */
  #homeOf(key: string): number | undefined {
    return this.#present?.of(key).at(-1);
  }

  #isHome(key: string): boolean {
    return this.#homeOf(key) === this.rank;
  }

  #peersOf(key: string): readonly AskedPeer[] {
    const asked: AskedPeer[] = [];
    const ranks = this.#homes.of(key);
    // Without former homes, it was found already.
    const home = this.#homes === this.#present ? ranks.at(-1) : this.#homeOf(key);
    for (const rank of ranks) {
      const peer = this.#peers.get(rank);
      if (peer?.isAsked === true || peer?.isOnTrial === true) asked.push({ peer, isHome: rank === home });
    }
    return asked;
  }

  /** Others came, went or changed. */
  #changed(): void {
    // Not before this worker has its rank.
    if (this.rank === -1) return;
    for (const [rank, peer] of this.#peers) {
      const member = this.#members.others.get(rank);
      if (member?.isThere !== true || !member.share || member.url !== peer.url || member.owner !== peer.owner)
        this.#drop(peer);
    }
    for (const member of this.members)
      if (member.share && member.url !== '' && !this.#peers.has(member.rank))
        this.#peers.set(member.rank, this.#peerOf(member));
    this.#rehome();
    this.emit('members', this.members);
  }

  /** Finds homes among those who are there, if there is no plan. */
  #rehome(): void {
    const { size, share } = this.#options;
    if (this.#plan !== undefined) return;
    const known = [...this.#members.others.values()].filter((member) => member.share);
    const others = known.map(({ rank }) => rank);
    if (size !== undefined) this.#rehomeAmong(Array.from({ length: size }, (_, rank) => rank));
    else {
      // Before this worker came, its objects were those of others.
      if (this.#present === undefined && others.length > 0) this.#rehomeAmong(others);
      this.#rehomeAmong(share ? [...others, this.rank] : others);
    }
  }

  #rehomeAmong(ranks: readonly number[]): void {
    const named = ranks.toSorted((a, b) => a - b).join();
    if (named === this.#ranks) return;
    this.#ranks = named;
    this.#move(new RendezvousHomes(ranks, this.#hashOf));
  }

  /** The homes of before are asked first. */
  #move(homes: Homes): void {
    if (this.#present !== undefined) this.#formers = [this.#present, ...this.#formers].slice(0, MOST_FORMERS);
    this.#present = homes;
    this.#homes = this.#formers.length === 0 ? homes : new MovedHomes(this.#formers, homes);
  }

  #peerOf({ rank, url, owner }: Member): Peer {
    const { deadlineMs, clock } = this.#options;
    return new Peer({
      rank,
      url,
      owner,
      driver: this.#transport.connect(url),
      deadlineMs,
      clock,
      onOut: (retryInMs, error) => this.emit('peerOut', { rank, retryInMs, error }),
      onBack: () => this.emit('peerBack', { rank }),
    });
  }

  #drop(peer: Peer): void {
    this.#peers.delete(peer.rank);
    const closing = peer.close().finally(() => {
      this.#closing.delete(peer);
      this.#askedOfFormer = sumOfCounts(this.#askedOfFormer, peer.counts);
    });
    this.#closing.set(peer, closing);
  }
}

/**
 * Changes whose former homes are asked. Workers come one after the other, and copies of what they have not
 * read yet are where they were before the first of them.
 */
const MOST_FORMERS = 8;

/** Homes before anybody is known. */
const NOBODY: Homes = { of: () => [] };
