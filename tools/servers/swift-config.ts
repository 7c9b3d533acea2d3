import os from 'node:os';

/** Ports of 127.0.0.1. */
export interface SwiftPorts {
  readonly proxy: number;
  readonly account: number;
  readonly container: number;
  readonly object: number;
  readonly memcached: number;
}

/** The user is the part after the colon, its account the part before it. */
export const SWIFT_ACCESS_KEY = 'test:tester';

/** The files of a Swift in `directory`, by their names. */
export function swiftFiles(directory: string, ports: SwiftPorts, secret: string): Record<string, string> {
  return {
    'swift.conf': ini({
      'swift-hash': { swift_hash_path_suffix: 'tiered' },
      'storage-policy:0': { name: 'only', default: 'yes' },
    }),
    'proxy-server.conf': proxy(directory, ports, secret),
    'account-server.conf': storage(directory, 'account', ports.account),
    'container-server.conf': storage(directory, 'container', ports.container),
    'object-server.conf': storage(directory, 'object', ports.object),
  };
}

type Section = Record<string, string | number>;

function ini(sections: Record<string, Section>): string {
  return Object.entries(sections)
    .map(([name, fields]) => {
      const lines = Object.entries(fields).map(([key, value]) => `${key} = ${value}`);
      return [`[${name}]`, ...lines, ''].join('\n');
    })
    .join('\n');
}

/**
 * Of every server. On one busy machine a slow answer is no sign of a dead disk: the limits are far above the
 * usual.
 */
function common(directory: string, port: number): Section {
  return {
    swift_dir: directory,
    devices: `${directory}/devices`,
    mount_check: 'false',
    user: os.userInfo().username,
    bind_ip: '127.0.0.1',
    bind_port: port,
    // One process, without a parent that forks.
    workers: 0,
    log_level: 'ERROR',
    // Keeps errors, which go to the log file, out of the machine's syslog: nobody reads this port.
    log_udp_host: '127.0.0.1',
    log_udp_port: 9,
    conn_timeout: 10,
    node_timeout: 60,
    // No daemon would make up for an entry of a listing that was given up.
    container_update_timeout: 60,
    disable_fallocate: 'true',
    fallocate_reserve: 0,
  };
}

function storage(directory: string, kind: string, port: number): string {
  return ini({
    DEFAULT: common(directory, port),
    'pipeline:main': { pipeline: `healthcheck ${kind}-server` },
    [`app:${kind}-server`]: {
      use: `egg:swift#${kind}`,
      log_requests: 'false',
      disk_chunk_size: 1_048_576,
      network_chunk_size: 1_048_576,
    },
    'filter:healthcheck': { use: 'egg:swift#healthcheck' },
  });
}

function proxy(directory: string, ports: SwiftPorts, secret: string): string {
  return ini({
    DEFAULT: common(directory, ports.proxy),
    'pipeline:main': {
      pipeline:
        'catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth bulk slo proxy-server',
    },
    'app:proxy-server': {
      use: 'egg:swift#proxy',
      account_autocreate: 'true',
      object_chunk_size: 1_048_576,
      client_chunk_size: 1_048_576,
      error_suppression_limit: 1000,
    },
    'filter:s3api': {
      use: 'egg:swift#s3api',
      location: 'us-east-1',
      // The limits of S3.
      min_segment_size: 5_242_880,
      max_upload_part_num: 10_000,
    },
    'filter:slo': { use: 'egg:swift#slo', max_manifest_segments: 10_000, max_manifest_size: 33_554_432 },
    'filter:tempauth': { use: 'egg:swift#tempauth', user_test_tester: `${secret} .admin` },
    'filter:cache': { use: 'egg:swift#memcache', memcache_servers: `127.0.0.1:${ports.memcached}` },
    ...Object.fromEntries(
      ['catch_errors', 'gatekeeper', 'healthcheck', 'listing_formats', 'bulk'].map((name) => [
        `filter:${name}`,
        { use: `egg:swift#${name}` },
      ]),
    ),
  });
}
