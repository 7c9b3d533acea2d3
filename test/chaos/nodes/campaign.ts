import type { Campaign } from '../simulated/campaign.js';
import { nodeSchedules, type NodeSchedule } from './steps.js';
import { NodesWorld } from './world.js';

/** Nodes of a cluster, each with tiers of its own. */
export const NODES: Campaign<NodeSchedule> = {
  schedules: nodeSchedules,
  run: (schedule, figures) => NodesWorld.run(schedule, figures),
};
