import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import { promisify } from 'node:util';
import type { Host } from './nats.js';

/** What a link is like. Without any, it is as fast as the machine. */
export interface LinkOptions {
  /** Packets to the node that are lost, in percent. */
  readonly lossPercent?: number;
  /** Bits a second, as `tc` has them, such as `10mbit`. */
  readonly rate?: string;
}

/** The command that installs what a network needs. */
const INSTALL = 'bash tools/servers/install.sh network';
const PREFIX = 'tdnet';

const ip = (...args: readonly string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * Machines of a test or a bench: network namespaces, each with a link of its own to a switch, so that loss,
 * bandwidth and partitions are the kernel's. Packets of a link that is cut vanish, and nobody is told.
 * Processes share all else of this machine, such as its files. There is no delay: it needs netem, which
 * kernels of virtual machines leave out.
 *
 * The namespaces are gone once this is disposed of, and when this process exits. Those of a run that was
 * killed are removed by the next one.
 */
export class Network implements Disposable {
  /** One run has another one than all others at the same time. */
  readonly #name = `${PREFIX}${process.pid}`;
  readonly #subnet = `10.${randomInt(60, 250)}.${randomInt(0, 250)}`;
  readonly #made: string[] = [];
  readonly #remove = () => this[Symbol.dispose]();

  /** Why there can be none here; undefined if there can. */
  static missing(): string | undefined {
    if (process.platform !== 'linux') return 'network namespaces are of Linux';
    if (process.getuid?.() !== 0) return 'network namespaces need root';
    try {
      for (const command of ['tc', 'nft']) execFileSync(command, ['-V'], { stdio: 'ignore' });
      ip('netns', 'add', `${PREFIX}probe`);
      ip('netns', 'del', `${PREFIX}probe`);
      return undefined;
    } catch (error) {
      return `no network namespaces (${INSTALL}): ${String(error)}`;
    }
  }

  /** @param nodes How many machines. */
  constructor(nodes: number) {
    removeLeftovers();
    process.once('exit', this.#remove);
    try {
      const bridge = this.#make(this.#switch);
      ip('-n', bridge, 'link', 'add', 'sw', 'type', 'bridge');
      ip('-n', bridge, 'link', 'set', 'sw', 'up');
      for (let node = 0; node < nodes; node++) this.#add(node);
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  /** The address of a node. */
  address(node: number): string {
    return `${this.#subnet}.${node + 10}`;
  }

  /** A node for a server to run on. */
  host(node: number): Host {
    const inside = ['netns', 'exec', this.#space(node)];
    const accepts = async (port: number) => {
      const { stdout } = await promisify(execFile)('ip', [...inside, 'ss', '-ltnH', `sport = :${port}`]);
      return stdout !== '';
    };
    return { address: this.address(node), inside: ['ip', ...inside], accepts };
  }

  /** Starts a program of Node on a node, with a channel for messages. */
  start(node: number, args: readonly string[]): ChildProcess {
    const [command = '', ...inside] = [...this.host(node).inside, process.execPath, ...args];
    return spawn(command, inside, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  /** Makes the link of a node so. */
  shape(node: number, { lossPercent = 0, rate }: LinkOptions): void {
    const space = this.#space(node);
    const inSpace = (...command: readonly string[]) => ip('netns', 'exec', space, ...command);
    inSpace('nft', 'flush', 'ruleset');
    if (lossPercent > 0) {
      // What comes in is lost, answers to what the node sends too. So nobody is told.
      const drop = lossPercent < 100 ? `numgen random mod 100 < ${lossPercent} drop` : 'drop';
      const chain = `{ type filter hook input priority 0; policy accept; ${drop}; }`;
      inSpace('nft', `add table inet loss; add chain inet loss in ${chain}`);
    }
    for (const [end, device] of this.#ends(node)) {
      const tc = (...args: readonly string[]) => ip('netns', 'exec', end, 'tc', 'qdisc', ...args);
      if (rate === undefined) tc('replace', 'dev', device, 'root', 'pfifo');
      else tc('replace', 'dev', device, 'root', 'tbf', 'rate', rate, 'burst', '32k', 'latency', '100ms');
    }
  }

  /** From now on, packets to a node vanish. `shape` heals it. */
  cut(node: number): void {
    this.shape(node, { lossPercent: 100 });
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#remove);
    for (const space of this.#made.splice(0)) ip('netns', 'del', space);
  }

  /** Makes a namespace. */
  #make(space: string): string {
    ip('netns', 'add', space);
    this.#made.push(space);
    return space;
  }

  #add(node: number): void {
    const [space, bridge, port] = [this.#make(this.#space(node)), this.#switch, `p${node}`];
    ip('-n', space, 'link', 'set', 'lo', 'up');
    ip('-n', bridge, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
    ip('-n', bridge, 'link', 'set', port, 'master', 'sw', 'up');
    ip('-n', space, 'addr', 'add', `${this.address(node)}/24`, 'dev', 'eth0');
    ip('-n', space, 'link', 'set', 'eth0', 'up');
  }

  get #switch(): string {
    return `${this.#name}-s`;
  }

  #space(node: number): string {
    return `${this.#name}-${node}`;
  }

  /** Both ends of a link: the space and the device of each. */
  #ends(node: number): readonly (readonly [string, string])[] {
    return [
      [this.#space(node), 'eth0'],
      [this.#switch, `p${node}`],
    ];
  }
}

/** Removes the namespaces of runs whose process is gone. */
function removeLeftovers(): void {
  const spaces = fs.existsSync('/run/netns') ? fs.readdirSync('/run/netns') : [];
  for (const space of spaces) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(space)?.[1];
    if (pid !== undefined && !fs.existsSync(`/proc/${pid}`)) ip('netns', 'del', space);
  }
}
