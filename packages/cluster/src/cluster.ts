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

/** Events of a `Cluster`. */
export interface ClusterEvents {
  /** Workers joined, left or changed. Lists the workers that are present now, without this one. */
  members: (members: readonly Member[]) => void;
  /** A peer is skipped for a while, because it failed or its bytes were wrong. */
  peerOut: (event: { readonly rank: number; readonly retryInMs: number; readonly error: unknown }) => void;
  /** A peer is asked again. */
  peerBack: (event: { readonly rank: number }) => void;
  /** The registry cannot be reached. Workers go on with the members they know. */
  registryLost: (event: { readonly error: unknown }) => void;
  /** The registry can be reached again. */
  registryFound: () => void;
}

/** A peer, and the outcomes of reads from it since it became known. */
export interface PeerStats extends PeerCounts {
  readonly rank: number;
  readonly url: string;
  /** False while the peer is skipped. */
  readonly isAsked: boolean;
}

/** A worker's view of its cluster, and its reads below its own tiers. */
export interface ClusterStats extends PeerReadCounts {
  readonly rank: number;
  /** Workers that are present, including this one. */
  readonly members: number;
  /** Outcomes of reads from peers, including peers that have left or were replaced. */
  readonly asked: PeerCounts;
  /** Peers known now. */
  readonly perPeer: readonly PeerStats[];
}

/** Options of `Cluster.source`. */
export interface ClusterSourceOptions {
  /**
   * The plan that maps objects to the workers that keep them, derived from the seed. All workers must use the
   * same plan. Default: none; hashing names a home for each object.
   */
  readonly plan?: HomePlan | undefined;
  /**
   * Predicts which reads the source serves sooner than a peer. These are read from the source (HDMLP, section
   * 5.2) and counted as `preferred`, so the source may serve a byte more than once. Default: none. Peers are
   * asked first, whatever they cost, which spares the source.
   */
  readonly model?: PeerModel | undefined;
}

/**
 * The workers of a training as one cache (HDMLP, section 5). On a miss, this worker reads from the worker
 * that keeps the object, and from the source only if no worker does.
 *
 * Every worker knows which worker keeps an object without a message: from a plan derived from the seed, or by
 * hashing. A worker asked for an object that it keeps, but does not have yet, fetches it for both. So the
 * source serves each byte once to the whole cluster. For any other object, a worker answers from its tiers or
 * not at all. No request is forwarded to a third worker, so workers cannot wait for each other in a circle.
 *
 * A peer that is down, slow or wrong fails no read: the read goes to the source. A peer is skipped for a
 * while after repeated failures, and at once after wrong bytes. While the registry is lost, members are
 * remembered.
 */
export class Cluster extends SafeEmitter<ClusterEvents> implements AsyncDisposable {
  readonly #options: CheckedOptions;
  readonly #transport: Transport;
  readonly #hashOf: HashOf;
  readonly #members: Members;
  readonly #peers = new Map<number, Peer>();
  /** Peers that were replaced or left, and are being closed. */
  readonly #closing = new Map<Peer, Promise<void>>();
  /** Outcomes of reads from closed peers. */
  #askedOfFormer = NO_COUNTS;
  /** The present homes, without the former ones. */
  #present: Homes | undefined;
  /** Former homes, the latest first. */
  #formers: readonly Homes[] = [];
  #homes: Homes = NOBODY;
  #plan: HomePlan | undefined;
  #ranks = '';
  #driver: PeersDriver | undefined;
  #serving: Listener | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Joins the cluster and takes a rank among the workers.
   * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, for workers that agree on something else
   * (the message names the difference), and for a rank that another worker keeps; `TIERED_UNAVAILABLE` if the
   * registry cannot be reached. Abort rejects with `signal.reason`.
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

  /** The rank of this worker. */
  get rank(): number {
    return this.#members.rank;
  }

  /** The other workers that are present. */
  get members(): readonly Member[] {
    return [...this.#members.others.values()].filter(({ isThere }) => isThere);
  }

  /** The URL where peers reach this worker, while it serves. */
  get endpoint(): string | undefined {
    return this.#serving?.url;
  }

  /**
   * Makes the source that all workers share, for the hierarchy of this worker. It has the identity of the
   * driver.
   * @param driver The source itself. All workers must be able to read it.
   * @throws TieredError `TIERED_CONFIG_INVALID` if there is one already: a cluster serves one dataset.
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
   * Switches to another plan, for example when a training has gained or lost workers. Workers that keep an
   * object by the present plan are asked before its new home. The other workers are told; see `gathered`.
   */
  usePlan(plan: HomePlan): void {
    // If this is the first plan, nothing was placed by hashing.
    if (this.#plan === undefined) [this.#present, this.#formers] = [undefined, []];
    this.#plan = plan;
    this.#move(new PlanHomes(plan));
    // If this fails, the next renewal tells it.
    void this.#members.tell({ plan: this.#planId });
  }

  /**
   * Waits until all `size` workers serve and follow the same plan as this one. A worker that begins earlier
   * reads from the source what others would have fetched for it.
   * @returns Whether all workers are ready; false once `timeoutMs` have passed. True at once without `size`.
   * Abort rejects with `signal.reason`.
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
   * Makes a placement policy for a worker that shares without a plan. The worker keeps the objects it is the
   * home of, on the tier `inner` chooses, and leaves other objects to their homes. A worker that does not
   * share follows `inner` alone. With a plan, use `frequency`.
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
   * Serves a hierarchy to peers until the hierarchy or the cluster is closed. Peers get objects that are on
   * its tiers, and objects that this worker is the home of. Does nothing without `share`.
   * @param hierarchy Open, with `source` as its source.
   * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid address; Node's own error for a port in use.
   */
  async serve(hierarchy: Hierarchy): Promise<void> {
    const { share, clock } = this.#options;
    invariant(this.#serving === undefined, 'a cluster serves one hierarchy');
    if (!share) return;
    const room = new RoomOf(hierarchy, clock);
    // A plan has already accounted for the capacity.
    const fetches = (key: string, bytes: number) =>
      this.#isHome(key) && (this.#plan !== undefined || room.has(bytes));
    this.#serving = await this.#transport.listen(hierarchy, fetches);
    hierarchy.once('closed', () => void this.#stopServing());
    await this.#members.tell({ url: this.#serving.url });
  }

  /** Returns the members, and the reads from peers and from the source. Cheap. */
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
   * Leaves the cluster: stops serving and asking peers, and removes this worker's record from the registry if
   * that can be reached. The driver goes on with the source. Idempotent.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // Others ask another worker before this one stops listening.
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

  /** The worker that fetches an object for all. */
  #homeOf(key: string): number | undefined {
    return this.#present?.of(key).at(-1);
  }

  #isHome(key: string): boolean {
    return this.#homeOf(key) === this.rank;
  }

  #peersOf(key: string): readonly AskedPeer[] {
    const asked: AskedPeer[] = [];
    const ranks = this.#homes.of(key);
    // Without former homes, `ranks` already ends with it.
    const home = this.#homes === this.#present ? ranks.at(-1) : this.#homeOf(key);
    for (const rank of ranks) {
      const peer = this.#peers.get(rank);
      if (peer?.isAsked === true || peer?.isOnTrial === true) asked.push({ peer, isHome: rank === home });
    }
    return asked;
  }

  /** Called after other workers joined, left or changed. */
  #changed(): void {
    // Do nothing before this worker has its rank.
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

  /** Without a plan, chooses homes among the workers that are present. */
  #rehome(): void {
    const { size, share } = this.#options;
    if (this.#plan !== undefined) return;
    const known = [...this.#members.others.values()].filter((member) => member.share);
    const others = known.map(({ rank }) => rank);
    if (size !== undefined) this.#rehomeAmong(Array.from({ length: size }, (_, rank) => rank));
    else {
      // Before this worker joined, others were the homes of its objects.
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

  /** Moves to new homes. The previous ones are asked first. */
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
 * The number of changes whose former homes are still asked. Workers join one after the other, and copies they
 * have not read yet are where they were before the first of them joined.
 */
const MOST_FORMERS = 8;

/** Homes before any worker is known. */
const NOBODY: Homes = { of: () => [] };
