import fs from 'node:fs';

/** The descriptors of input, output and messages, which every program gets. */
const STANDARD = 3;
/** What only Node itself opens at its start, and what it opens besides, as the kernel calls them. */
const OF_NODE = /^anon_inode:/;
const PERHAPS_OF_NODE = /^(pipe:|\/dev\/null$)/;

interface Opened {
  readonly descriptor: number;
  /** What it leads to. */
  readonly target: string;
}

/**
 * The descriptors from 3 on that whoever started this process passed to it, as by `cmd 3<file`. To be asked
 * before anything else is opened. None where the system does not list descriptors.
 *
 * The system does not say which ones are Node's own. It takes the lowest free numbers, so that all below its
 * first one were passed. Above that, `/dev/null` and pipes with both ends in this process are taken for its
 * own, but for the pipe that `make` names to its jobs.
 */
export function inheritedDescriptors(env: NodeJS.ProcessEnv = process.env): readonly number[] {
  const opened = openDescriptors();
  const ofJobs = jobserverOf(env);
  const ends = new Map<string, number>();
  for (const { target } of opened) ends.set(target, (ends.get(target) ?? 0) + 1);
  const first = opened.find(({ target }) => OF_NODE.test(target))?.descriptor ?? Infinity;
  const isPassed = ({ descriptor, target }: Opened): boolean => {
    if (descriptor < first || ofJobs.includes(descriptor)) return true;
    if (OF_NODE.test(target)) return false;
    return !PERHAPS_OF_NODE.test(target) || (target.startsWith('pipe:') && ends.get(target) === 1);
  };
  return opened
    .filter((one) => isPassed(one) && one.descriptor !== channelOf(process))
    .map(({ descriptor }) => descriptor);
}

function openDescriptors(): Opened[] {
  let names: readonly string[];
  try {
    names = fs.readdirSync('/proc/self/fd');
  } catch {
    return [];
  }
  const numbers = names.map(Number).filter((descriptor) => descriptor >= STANDARD);
  return numbers
    .sort((a, b) => a - b)
    .flatMap((descriptor) => {
      try {
        return [{ descriptor, target: fs.readlinkSync(`/proc/self/fd/${descriptor}`) }];
      } catch {
        // That of the listing itself.
        return [];
      }
    });
}

/** The pipe from which the jobs of `make` take their slots, as its manual says. */
function jobserverOf({ MAKEFLAGS = '' }: NodeJS.ProcessEnv): readonly number[] {
  const [, ...ends] = /--jobserver-(?:auth|fds)=(\d+),(\d+)/.exec(MAKEFLAGS) ?? [];
  return ends.map(Number);
}

/** That of messages from a Node process that started this one. It is of use to nobody else. */
function channelOf({ channel }: NodeJS.Process): number | undefined {
  return (channel as { readonly fd?: number } | undefined)?.fd;
}

/**
 * What a program is started with, so that it gets these descriptors by the same numbers, and no others
 * besides input, output and messages.
 */
export function stdioWith(descriptors: readonly number[]): ('inherit' | 'ignore' | number)[] {
  const most = Math.max(STANDARD - 1, ...descriptors);
  return Array.from({ length: most + 1 }, (_, descriptor) => {
    if (descriptor < STANDARD) return 'inherit';
    return descriptors.includes(descriptor) ? descriptor : 'ignore';
  });
}
