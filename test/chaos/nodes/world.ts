import { Random } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import { countFault, type Figures } from '../figures.js';
import { Dataset, KEYS, type Key } from '../simulated/dataset.js';
import { SimulatedDisk } from '../simulated/disk.js';
import { Finding } from '../simulated/finding.js';
import { goThrough } from '../simulated/go-through.js';
import { Reading } from '../simulated/reading.js';
import { UnderWay } from '../simulated/under-way.js';
import type { ReadStep } from '../steps.js';
import { assertKeptAreShared, assertMembers } from './end.js';
import type { CountedSource } from './counted-source.js';
import { Network } from './network.js';
import { DEADLINE_MS, GONE_MS, Node, TTL_MS } from './node.js';
import { SimulatedRegistry } from '../simulated/registry.js';
import { MACHINES, type NodeSchedule, type NodeStart, type NodeStep } from './steps.js';

/** What tiers and the source take of a read at most, in milliseconds. */
const OWN_MS = 4000;
/**
 * A read by itself brings its bytes, and its whole object to be placed. So the source gives no more than that
 * for each read of a node.
 */
const BYTES_OF_READ = 2;
/** After so long all know who is there, and ask again whom they left alone. */
const LEARNT_MS = TTL_MS + GONE_MS + 5000;
/** Epochs after which all is where it belongs, and all are trusted again. */
const EPOCHS = 3;

/**
 * Machines with a node each, a network, a registry and a source: makes the steps of a schedule, and looks
 * after each whether all is as promised.
 */
export class NodesWorld {
  readonly #clock = new ManualClock(ticked);
  readonly #dataset = new Dataset();
  readonly #disks = Array.from({ length: MACHINES }, (_, host) => new SimulatedDisk(`disk ${host}`));
  readonly #nodes: (Node | undefined)[] = [];
  readonly #figures: Figures;
  readonly #underWay: UnderWay;
  readonly #network: Network;
  readonly #registry = new SimulatedRegistry(this.#clock);
  readonly #size: number | undefined;
  /** Those of all nodes that there were. */
  readonly #sources: CountedSource[] = [];
  /** Bytes that nodes by themselves would ask the source for, for the reads so far. */
  #allowedBytes = 0;
  #isPlanned = false;

  private constructor({ seed, size, weather }: NodeSchedule, figures: Figures) {
    this.#figures = figures;
    this.#size = size;
    this.#underWay = new UnderWay(this.#clock, ({ kind }) => {
      if (kind === 'wrong bytes') figures.wrongBytes += 1;
    });
    this.#network = new Network(this.#clock, new Random(seed, 2), (kind) => this.#fault(kind));
    this.#network.weather = weather;
  }

  /**
   * Goes through a schedule.
   * @throws Finding for what must not be.
   */
  static async run(schedule: NodeSchedule, figures: Figures): Promise<void> {
    const world = new NodesWorld(schedule, figures);
    world.#underWay.listen();
    try {
      await world.#dataset.begin(schedule.sizes);
      await goThrough(schedule.steps, {
        clock: world.#clock,
        underWay: world.#underWay,
        figures,
        make: (step) => world.#make(step),
        end: () => world.#end(),
      });
    } finally {
      for (const node of world.#nodes) node?.kill();
      await ticked();
      world.#underWay.stopListening();
      world.#network.dispose();
      for (const disk of world.#disks) disk.dispose();
    }
  }

  async #make(step: NodeStep): Promise<void> {
    switch (step.do) {
      case 'start':
        if (this.#nodes[step.who] === undefined) this.#start(step);
        return;
      case 'wait':
        return this.#clock.advance(step.ms);
      case 'settle':
        return this.#underWay.settle();
      case 'epoch':
        this.#beginEpoch();
        return;
      case 'change':
        return this.#dataset.put(step.key, step.size);
      case 'remove':
        return this.#dataset.remove(step.key);
      case 'heal':
        this.#network.heal();
        return;
      case 'weather':
        this.#network.weather = step.weather;
        return;
      case 'cut':
        if (step.who !== step.other) this.#network.cut(step.who, step.other);
        return;
      case 'registry':
        this.#fault(`registry ${step.state}`);
        if (step.state === 'forget') this.#registry.forget();
        else this.#registry.state = step.state;
        return;
      case 'read': {
        const running = this.#running;
        const node = running[step.who % running.length];
        if (node !== undefined) this.#read(node, step);
        return;
      }
      case 'follow':
      case 'kill':
      case 'close':
      case 'leave':
      case 'stop':
      case 'resume': {
        const node = this.#nodes[step.who];
        if (node !== undefined) this.#makeOf(node, step);
      }
    }
  }

  #makeOf(
    node: Node,
    step: Extract<NodeStep, { do: 'follow' | 'kill' | 'close' | 'leave' | 'stop' | 'resume' }>,
  ): void {
    if (step.do === 'kill') this.#kill(node);
    if (step.do === 'stop' && node.isRunning) {
      node.stops += 1;
      node.process.stop();
    }
    if (step.do === 'resume') node.process.resume();
    if (!node.isReading) return;
    if (step.do === 'close') this.#underWay.begin(node, 'close', this.#close(node));
    if (step.do === 'leave') this.#underWay.begin(node, 'leave', node.leave());
    if (step.do !== 'follow') return;
    this.#isPlanned = true;
    node.follow(step.plan);
  }

  #start(options: NodeStart): void {
    const disk = this.#disks[options.who];
    if (disk === undefined) return;
    const node = new Node(options, {
      clock: this.#clock,
      dataset: this.#dataset,
      disk,
      network: this.#network,
      registry: this.#registry,
      size: this.#size,
      onFault: (kind) => this.#fault(kind),
    });
    this.#nodes[options.who] = node;
    this.#sources.push(node.source);
    const starting = node.start().then((hasStarted) => {
      if (hasStarted) return;
      this.#figures.failedStarts += 1;
      this.#kill(node);
    });
    this.#underWay.begin(node, 'start', starting);
  }

  #read(node: Node, step: ReadStep): void {
    const { life, known, stops } = node;
    if (life === undefined) return;
    this.#figures.reads += step.reads.length;
    const onBytes = (bytes: number) => (this.#figures.bytesChecked += bytes);
    for (const { key } of step.reads) this.#allowedBytes += BYTES_OF_READ * this.#dataset.largest(key);
    const began = this.#clock.now();
    const reading = new Reading(life, known, this.#dataset, onBytes).make(step).then((endedAt) => {
      const ms = endedAt - began;
      // Of a node that was killed nobody waits for a read, though its abort still comes.
      if (!node.isRunning) return;
      // What its tiers and the source do takes longer, and is no matter of nodes.
      const isQuick = life.isSound && node.options.faults.source === 0 && node.stops === stops;
      // A former home is asked before the present one.
      const peers = this.#size === undefined || this.#isPlanned ? 2 : 1;
      if (isQuick && ms > peers * DEADLINE_MS + OWN_MS)
        throw new Finding('slow read', `${step.how} took ${ms} ms`);
    });
    this.#underWay.begin(node, step.how, reading);
  }

  #kill(node: Node): void {
    this.#figures.kills += 1;
    node.kill();
    this.#forget(node);
  }

  async #close(node: Node): Promise<void> {
    await node.close();
    this.#forget(node);
  }

  #forget(node: Node): void {
    this.#nodes[this.#nodes.indexOf(node)] = undefined;
    this.#underWay.forget(node);
  }

  get #running(): readonly Node[] {
    return this.#nodes.filter((node) => node?.isReading === true) as Node[];
  }

  /** Faults are over. */
  async #end(): Promise<void> {
    this.#network.heal();
    this.#registry.state = 'there';
    for (const node of this.#nodes) node?.process.resume();
    await this.#underWay.settle();
    if (this.#isPlanned) for (const node of this.#running) node.follow(0);
    await this.#clock.advance(LEARNT_MS);
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      await this.#readAll();
      await this.#clock.advance(LEARNT_MS);
      await this.#underWay.settle();
    }
    assertMembers(this.#running, this.#registry);
    await assertKeptAreShared(
      this.#running,
      { registry: this.#registry, isPlanned: this.#isPlanned, size: this.#size },
      () => this.#readAll(),
    );
    for (const node of this.#running) this.#underWay.begin(node, 'close', this.#close(node));
    await this.#underWay.settle();
    this.#underWay.throwFinding();
    const asked = this.#sources.reduce((sum, { bytes }) => sum + bytes, 0);
    if (asked > this.#allowedBytes)
      throw new Finding('asked too much', `the source gave ${asked} bytes for ${this.#allowedBytes}`);
    const left = this.#registry.records.all().map(({ slot }) => slot);
    if (left.length > 0) throw new Finding('held after close', left.join(', '));
  }

  /** All nodes begin to read everything. */
  #beginEpoch(): void {
    const reads = KEYS.map((key: Key) => ({ key, offset: 0, length: 1000 }));
    for (const node of this.#running)
      this.#read(node, { do: 'read', who: node.options.who, how: 'read', reads, transfer: false });
  }

  /** All nodes read everything, and place what they keep. */
  async #readAll(): Promise<void> {
    this.#beginEpoch();
    await this.#underWay.settle();
    for (const node of this.#running)
      if (node.life !== undefined) this.#underWay.begin(node, 'idle', node.life.hierarchy.idle());
    await this.#underWay.settle();
    this.#underWay.throwFinding();
  }

  #fault(kind: string): void {
    countFault(this.#figures, kind);
  }
}
