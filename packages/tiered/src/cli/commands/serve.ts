import { Command } from 'commander';
import { once } from 'node:events';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { portNumber, processCount, repeatable } from '../arguments.js';
import { SOURCE } from '../options.js';
import type { ServeOptions } from '../shared/gateway.js';

const EXAMPLES = `
Examples:
  tiered serve s3://bucket/prefix/ --tier ram:8GiB --tier /nvme/cache:200GiB
  tiered serve tiers.yaml --port 9400 --metrics-port 9401 --access-log
  tiered serve one.yaml other.yaml
  tiered serve tiers.yaml --processes 4
  tiered serve /mnt/imagenet --tier ram:8GiB --cluster imagenet --port 0

Environment: TIERED_ACCESS_KEY_ID and TIERED_SECRET_ACCESS_KEY are the keys that clients sign with. Without them
every user of this machine may read, and no other machine can. TIERED_METRICS_TOKEN guards /metrics.`;

/** `tiered serve`. */
export function serveCommand(host: CommandHost): Command {
  return new Command('serve')
    .summary('Serves a source to clients of S3, from tiers')
    .description(
      'Serves objects through the read API of S3 at an endpoint of its own, until it is interrupted. Each ' +
        'configuration is a bucket. Objects that clients read from the source are copied to the tiers in ' +
        'the background.',
    )
    .argument('<what...>', `configurations; or, with --tier, one source: ${SOURCE}`)
    .addOption(
      repeatable(
        '--tier <place:quota>',
        'with a source: a tier, such as ram:8GiB, /nvme/cache:200GiB or /nvme/cache:80%, fastest first; ' +
          'may be repeated',
      ),
    )
    .option('--manifest <file>', 'with a source: keeps the list of its objects in this file')
    .option(
      '--bucket <name[/prefix/]>',
      'name of the bucket for clients, and a prefix of its keys; default: as in the source',
    )
    .addOption(
      repeatable(
        '--changing <glob>',
        'with a source: keys whose objects change, such as "**/_versions/*"; the source is asked before ' +
          'they are served; may be repeated',
      ),
    )
    .addOption(
      repeatable(
        '--writes <prefix/>',
        'with a source that is a bucket: clients may write and delete below this prefix, such as ' +
          'checkpoints/; may be repeated',
      ),
    )
    .option(
      '--cluster <name>',
      'with a source: shares the tiers with the other processes of this user and machine that name the ' +
        'same cluster',
    )
    .option('--host <address>', 'address to listen on; any but loopback needs keys', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 is a free one', portNumber, 9400)
    .option('--metrics-port <n>', 'port for /healthz, /readyz and /metrics; default: none', portNumber)
    .option(
      '--processes <n>',
      'processes that serve at the port together; they share the tiers on disks, and each has its part of ' +
        'the tiers in memory',
      processCount,
      1,
    )
    .option('--access-log', 'a line of JSON on standard error for each response')
    .option('--json', 'standard output as a line of JSON')
    .addHelpText('after', EXAMPLES)
    .action((what: string[], options: ServeOptions) => serve(host, what, options));
}

/** Serves until a signal ends it. Answers under way then have some time to end. */
async function serve(host: CommandHost, what: readonly string[], options: ServeOptions): Promise<void> {
  // Clients find it without being told.
  host.output.on('error', (error: Error) => {
    host.terminal.write(`Standard output cannot be written to: ${error.message}\n`);
  });
  const { seatIn } = await import('../shared/serve-seat.js');
  const seat = seatIn(process.env);
  if (seat !== undefined) {
    const { serveInSeat } = await import('../shared/serve-in-seat.js');
    await serveInSeat(host, what, options, seat);
  } else if (options.processes > 1) {
    const { serveByProcesses } = await import('../shared/serve-processes.js');
    await serveByProcesses(host, options);
  } else await serveAlone(host, what, options);
}

async function serveAlone(host: CommandHost, what: readonly string[], options: ServeOptions): Promise<void> {
  const { factsOf, openGateway, totalsOf } = await import('../shared/gateway.js');
  const { readyText, summaryText } = await import('../shared/served-text.js');
  await untilInterrupted(host.clock, async (signal) => {
    await using served = await openGateway(host, what, options, signal);
    host.write(readyText(factsOf(served), options.json));
    if (!signal.aborted) await once(signal, 'abort');
    await served.gateway.close();
    host.terminal.write(summaryText([totalsOf(served)]));
  });
}
