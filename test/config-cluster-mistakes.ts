import type { Mistake } from './config-gateway-mistakes.js';

const withCluster = (cluster: unknown) => ({ source: { driver: 'memory' }, cluster });
const clusterOf = (options: object) => withCluster({ name: 'training', ...options });
const withPlan = (options: object) => ({ ...clusterOf(options), placement: { policy: 'planFollower' } });
const plan = { sampler: 'torch', seed: 0, epochs: 3 };

/** Mistakes that people make with the workers of a cluster. */
export const CLUSTER_MISTAKES: readonly Mistake[] = [
  { what: 'a cluster that is a name', config: withCluster('training'), field: 'cluster' },
  { what: 'a cluster without a name', config: withCluster({}), field: 'cluster.name', told: 'missing' },
  { what: 'a name that no table has', config: withCluster({ name: 'a/b' }), field: 'cluster.name' },
  {
    what: 'a mistyped option of a cluster',
    config: clusterOf({ registy: 'sqlite' }),
    field: 'cluster.registy',
    told: 'did you mean registry?',
  },
  {
    what: 'a registry that does not exist',
    config: clusterOf({ registry: 'etcd' }),
    field: 'cluster.registry',
    told: 'sqlite, torch',
  },
  {
    what: 'NATS without servers',
    config: clusterOf({ registry: { nats: { servers: [] } } }),
    field: 'cluster.registry.nats.servers',
  },
  {
    what: 'a password in the URL of a server',
    config: clusterOf({ registry: { nats: { servers: ['nats://me:secret@host:4222'] } } }),
    field: 'cluster.registry.nats.servers[0]',
  },
  {
    what: 'a peer without a scheme',
    config: clusterOf({ rank: 0, registry: { peers: ['worker-0:9440'] } }),
    field: 'cluster.registry.peers[0]',
    told: 'http://worker-0.training:9440',
  },
  {
    what: 'peers without the own rank',
    config: clusterOf({ registry: { peers: ['http://a:1', 'http://b:1'] } }),
    field: 'cluster.rank',
    told: 'missing',
    beyondSchema: true,
  },
  {
    what: 'more workers than peers',
    config: clusterOf({ rank: 0, size: 3, registry: { peers: ['http://a:1', 'http://b:1'] } }),
    field: 'cluster.size',
    told: 'expected 2',
    beyondSchema: true,
  },
  { what: 'a rank that is a word', config: clusterOf({ rank: 'first' }), field: 'cluster.rank' },
  { what: 'a rank that is half', config: clusterOf({ rank: 0.5 }), field: 'cluster.rank' },
  {
    what: 'a rank behind the last one',
    config: clusterOf({ rank: 4, size: '4' }),
    field: 'cluster.rank',
    told: 'from 0 to 3',
    beyondSchema: true,
  },
  { what: 'no worker', config: clusterOf({ size: 0 }), field: 'cluster.size' },
  {
    what: 'a short token',
    config: clusterOf({ token: 'secret' }),
    field: 'cluster.token',
    told: '16 characters',
  },
  {
    what: 'a port that no machine has',
    config: clusterOf({ port: 65_536 }),
    field: 'cluster.port',
    beyondSchema: true,
  },
  {
    what: 'a URL with a path',
    config: clusterOf({ advertise: 'http://a:1/objects' }),
    field: 'cluster.advertise',
  },
  {
    what: 'a plan without an order',
    config: withPlan({ size: 2, plan: { sampler: 'torch', epochs: 3 } }),
    field: 'cluster.plan.seed',
    told: 'missing',
  },
  {
    what: 'a plan of nobody knows how many',
    config: withPlan({ plan }),
    field: 'cluster.size',
    told: 'a plan is of a fixed number of workers',
    beyondSchema: true,
  },
  {
    what: 'batches of an order that has none',
    config: withPlan({ size: 2, plan: { ...plan, batchSize: 8 } }),
    field: 'cluster.plan',
    told: 'sampler: torch',
    beyondSchema: true,
  },
  {
    what: 'a plan where something else places',
    config: { ...clusterOf({ size: 2, plan }), placement: { policy: 'firstFit' } },
    field: 'placement.policy',
    told: 'planFollower',
    beyondSchema: true,
  },
];
