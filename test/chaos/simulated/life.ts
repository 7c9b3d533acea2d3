import type { Cluster } from '@tiered/cluster';
import { Hierarchy, MemoryDriver, Random, type Clock, type StorageDriver } from '@tiered/core';
import { RetryDriver } from '@tiered/core/decorators';
import {
  InterceptingDriver,
  type CreateOptions,
  type DriverCall,
  type IndexHome,
  type ObjectWriter,
  type WriteData,
  type WriteOptions,
} from '@tiered/core/driver';
import { FaultDriver, type FaultRule } from '@tiered/core/testing';
import { firstFit, lru, PlacementHandler, promoting } from '@tiered/tiering';
import { CHUNK, type Start } from '../steps.js';
import type { Dataset } from './dataset.js';
import type { SimulatedDisk } from './disk.js';
import { forgetUser, nameUser } from './index-in-process.js';
import { ProcessDriver, SimulatedProcess } from './process.js';

const POLICIES = { firstFit, lru, promoting: promoting(lru) };
const READS = ['read', 'readInto'] as const;
const CHANGES = ['write', 'create', 'writeAt', 'publish', 'delete'] as const;
const REST = ['open', 'openIndex', 'stat', 'list'] as const;

/** Faults of a tier's driver, each with a part of the rate. */
function tierRules(percent: number): FaultRule[] {
  if (percent === 0) return [];
  const probability = percent / 100;
  return [
    { operations: READS, probability: probability / 10, fault: { kind: 'hang' } },
    { operations: READS, probability: probability / 2, fault: { kind: 'truncate' } },
    { operations: [...READS, ...CHANGES, ...REST], probability, fault: { kind: 'fail', code: 'TIERED_IO' } },
    { operations: CHANGES, probability: probability / 2, fault: { kind: 'fail-after', code: 'TIERED_IO' } },
    {
      operations: ['write', 'create', 'writeAt'],
      probability: probability / 4,
      fault: { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
    },
  ];
}

/** What lives need of their world. */
export interface Surroundings {
  readonly clock: Clock;
  readonly dataset: Dataset;
  readonly disks: readonly SimulatedDisk[];
  readonly onFault: (kind: string) => void;
  /** Of a process that is a node: itself, its cluster, and its way to the source. */
  readonly node?:
    | { readonly process: SimulatedProcess; readonly cluster: Cluster; readonly source: StorageDriver }
    | undefined;
}

/** One process from its start to its end: a hierarchy of its own over disks that it shares. */
export class Life {
  readonly options: Start;
  readonly process: SimulatedProcess;
  readonly hierarchy: Hierarchy;
  /** By disk, under which names it was there; the last one is the present one. */
  readonly members: string[][];
  /** The world's: it goes on whatever becomes of the process. */
  readonly clock: Clock;
  isStarted = false;
  isClosing = false;
  readonly #cluster: Cluster | undefined;
  readonly #ways: string[] = [];
  readonly #faulty: FaultDriver[] = [];
  readonly #onFault: (kind: string) => void;

  constructor(options: Start, { clock, dataset, disks, onFault, node }: Surroundings) {
    this.options = options;
    this.clock = clock;
    this.#onFault = onFault;
    const { seed, ram, quota, policy, layout, versions, scan, faults, whenBehind } = options;
    this.process = node?.process ?? new SimulatedProcess(clock, new Random(seed, 1));
    this.members = disks.map(() => []);
    const tiers = disks.map((disk, level) => ({
      driver: this.#tier(disk, level),
      quota,
      layout,
    }));
    const rules: FaultRule[] = [
      { operations: [...READS, 'stat'], probability: faults.source / 100, fault: { kind: 'fail' } },
    ];
    const flaky = this.#injecting(node?.source ?? dataset.driver, rules, 2);
    const source = new RetryDriver(new ProcessDriver(flaky, this.process), {
      attempts: 1000,
      maxDelayMs: 100,
      deadlineMs: 1e9,
      clock: this.process.clock,
      seed,
    });
    this.#cluster = node?.cluster;
    this.hierarchy = new Hierarchy({
      source: node?.cluster.source(source) ?? source,
      tiers: ram === 0 ? tiers : [{ driver: new MemoryDriver(), quota: ram }, ...tiers],
      placement: new PlacementHandler({
        chunk: CHUNK,
        memory: 8 * CHUNK,
        policy: node?.cluster.policy(POLICIES[policy]) ?? POLICIES[policy],
        whenBehind,
        concurrency: 3,
      }),
      clock: this.process.clock,
      versions,
      scan,
    });
  }

  get isRunning(): boolean {
    return this.process.state === 'running';
  }

  /** Whether its tiers do what they are told. */
  get isSound(): boolean {
    return this.options.faults.tier === 0 && this.options.faults.index === 0;
  }

  /** As `kill -9`. */
  kill(disks: readonly SimulatedDisk[]): void {
    this.process.kill();
    for (const [index, members] of this.members.entries())
      for (const member of members) disks[index]?.leave(member);
    this.end();
  }

  /** Closes everything. */
  async close(): Promise<void> {
    this.isClosing = true;
    await this.hierarchy.close();
    await this.#cluster?.close();
  }

  /** It is over: says what faults it met. */
  end(): void {
    for (const way of this.#ways.splice(0)) forgetUser(way);
    for (const { injected } of this.#faulty.splice(0))
      for (const fault of injected) this.#onFault(fault.split(' ')[0] ?? '');
  }

  #tier(disk: SimulatedDisk, level: number): StorageDriver {
    const members = this.members[level] ?? [];
    const way = disk.wayIn();
    this.#ways.push(way);
    const { seed, faults } = this.options;
    const random = new Random(seed, 10 + level);
    const { process } = this;
    const onFault = (kind: string) => this.#onFault(`index ${kind}`);
    nameUser(way, { process, random, faultRate: faults.index / 100, onFault });
    const own = new OwnDisk(disk, way, members, process);
    return new ProcessDriver(this.#injecting(own, tierRules(faults.tier), 20 + level), process);
  }

  #injecting(inner: StorageDriver, rules: FaultRule[], salt: number): FaultDriver {
    const driver = new FaultDriver(inner, {
      rules,
      seed: this.options.seed + salt,
      clock: this.process.clock,
    });
    this.#faulty.push(driver);
    return driver;
  }
}

/** The way of one process to a disk. */
class OwnDisk extends InterceptingDriver {
  readonly #disk: SimulatedDisk;
  readonly #way: string;
  readonly #members: string[];
  readonly #process: SimulatedProcess;

  constructor(disk: SimulatedDisk, way: string, members: string[], process: SimulatedProcess) {
    super(disk);
    this.#disk = disk;
    this.#way = way;
    this.#members = members;
    this.#process = process;
  }

  override write(key: string, data: WriteData, options: WriteOptions): Promise<void> {
    const member = this.#members.at(-1) ?? '';
    return this.#disk.writeFor(member, key, data, options, (write) => this.#process.slowly(write));
  }

  override create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    return this.#disk.createFor(this.#members.at(-1) ?? '', key, options);
  }

  override async openIndex(): Promise<IndexHome> {
    const member = `${this.#way.slice(this.#way.lastIndexOf('/') + 1)}.${this.#members.length}`;
    this.#members.push(member);
    const home = this.#disk.homeOf(member, this.#way);
    const through = <T>(what: string, call: () => Promise<T>) => this.#process.call(what, call);
    return {
      ...home,
      isRunning: (id) => through('isRunning', () => home.isRunning(id)),
      others: () => through('others', () => home.others()),
      clearUp: (id) => through('clearUp', () => home.clearUp(id)),
      close: () => through('close', () => home.close()),
    };
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}
