import fc from 'fast-check';

/**
 * Properties draw from one seed: that of the commit, so that two runs of one commit try the same cases, and
 * each commit others. What failed in CI fails here too; TIERED_SEED in the environment, a whole number, is
 * taken instead.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['TIERED_SEED']) });
