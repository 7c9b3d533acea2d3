import type { Mistake } from './config-gateway-mistakes.js';

const withControl = (control: unknown) => ({ source: { driver: 'memory' }, control });
const controlOf = (options: object) => withControl({ job: 'resnet', ...options });

/** Mistakes that people make with the control plane. */
export const CONTROL_MISTAKES: readonly Mistake[] = [
  { what: 'a control that is a name', config: withControl('resnet'), field: 'control' },
  { what: 'a control without a job', config: withControl({}), field: 'control.job', told: 'missing' },
  { what: 'a job with a blank', config: withControl({ job: 'my job' }), field: 'control.job' },
  {
    what: 'a mistyped option of a job',
    config: controlOf({ wieght: 2 }),
    field: 'control.wieght',
    told: 'did you mean weight?',
  },
  { what: 'no weight', config: controlOf({ weight: 0 }), field: 'control.weight', told: '0.001 to 1000' },
  { what: 'a weight that is a word', config: controlOf({ weight: 'high' }), field: 'control.weight' },
  {
    what: 'half a priority',
    config: controlOf({ priority: 0.5 }),
    field: 'control.priority',
    told: 'whole number',
    beyondSchema: true,
  },
  { what: 'a rate that is a size', config: controlOf({ atMost: '150MB' }), field: 'control.atMost' },
  {
    what: 'a rate of another unit',
    config: controlOf({ atLeast: { megabytes: 150 } }),
    field: 'control.atLeast.megabytes',
  },
  {
    what: 'a bound of nothing',
    config: controlOf({ atMost: { operationsPerSecond: 0 } }),
    field: 'control.atMost.operationsPerSecond',
  },
  {
    what: 'jobs that meet in a list',
    config: controlOf({ registry: { peers: ['http://a:1'] } }),
    field: 'control.registry',
    told: 'sqlite, { sqlite: FILE }',
  },
  {
    what: 'a budget of a wrong unit',
    config: controlOf({ source: { budget: { bytesPerSecond: '1GBit' } } }),
    field: 'control.source.budget.bytesPerSecond',
    told: 'GiB',
  },
  { what: 'a registry whose name is a path', config: controlOf({ name: 'a/b' }), field: 'control.name' },
];
