import type { Campaign } from '../simulated/campaign.js';
import { jobSchedules, type JobSchedule } from './steps.js';
import { JobsWorld } from './world.js';

/** Jobs that share a source. */
export const JOBS: Campaign<JobSchedule> = {
  schedules: jobSchedules,
  run: (schedule, figures) => JobsWorld.run(schedule, figures),
};
