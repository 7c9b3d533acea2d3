/**
 * The configuration of a cluster of one monitor, one OSD and one gateway, which keep everything in
 * `directory`.
 */
export function cephConf(directory: string, cluster: string, monitor: number, gateway: number): string {
  const fields = {
    fsid: cluster,
    mon_host: `[v2:127.0.0.1:${monitor}/0]`,
    ms_bind_msgr1: 'false',
    public_addr: '127.0.0.1',
    cluster_addr: '127.0.0.1',
    keyring: `${directory}/keyring`,
    mon_data: `${directory}/mon`,
    osd_data: `${directory}/osd`,
    rgw_data: directory,
    run_dir: directory,
    crash_dir: directory,
    // Nobody asks their control sockets, whose paths have a limit.
    admin_socket: '',
    pid_file: '',
    log_to_stderr: 'true',
    err_to_stderr: 'true',
    log_file: '',
    mon_cluster_log_file: '',
    // The gateway never gets in without cephx.
    auth_cluster_required: 'cephx',
    auth_service_required: 'cephx',
    auth_client_required: 'cephx',
    osd_objectstore: 'memstore',
    memstore_device_bytes: 8 * 2 ** 30,
    // One copy, on the one OSD, of few placement groups: pools are made at once.
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 1,
    osd_crush_chooseleaf_type: 0,
    mon_allow_pool_size_one: 'true',
    osd_pool_default_pg_autoscale_mode: 'off',
    // The monitor gathers changes for a second before it decides; there is nobody to gather from.
    paxos_propose_interval: 0.02,
    paxos_min_wait: 0.01,
    rgw_frontends: `beast endpoint=127.0.0.1:${gateway} tcp_nodelay=1`,
    // Threads of a gateway that serves tests.
    rgw_thread_pool_size: 32,
    rgw_enable_gc_threads: 'true',
    rgw_enable_usage_log: 'false',
    rgw_enable_ops_log: 'false',
  };
  return ['[global]', ...Object.entries(fields).map(([key, value]) => `${key} = ${value}`), ''].join('\n');
}

/** A keyring whose every user may do anything. */
export function cephKeyring(keys: Record<string, string>): string {
  const all = ['mon', 'osd', 'mgr', 'mds'].map((service) => `caps ${service} = "allow *"`);
  return Object.entries(keys)
    .map(([user, key]) => [`[${user}]`, `key = ${key}`, ...all, ''].join('\n'))
    .join('\n');
}
