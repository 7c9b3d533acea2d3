import { FOLDERS } from './tools/ladder.js';

/** A rule for each folder of a package: it imports none of those after it in `FOLDERS`. */
const oneWay = Object.entries(FOLDERS).flatMap(([name, folders]) =>
  folders.slice(0, -1).map((folder, at) => ({
    name: `${name}-one-way`,
    severity: 'error',
    from: { path: `^packages/${name}/src/${folder}/` },
    to: { path: `^packages/${name}/src/(${folders.slice(at + 1).join('|')})/` },
  })),
);

/**
 * No two modules import each other, not even their types: each can be read, tested and moved with what it
 * imports, and nothing else. And what is optional stays so.
 */
/** What `tiered --help` loads. */
const EARLY = String.raw`^packages/tiered/src/(words|version|cli/[^/]+|cli/commands/[^/]+)\.ts$`;

export default {
  forbidden: [
    ...oneWay,
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'interpose-is-optional',
      comment: 'Who has not installed it loses the commands that import it when they run.',
      severity: 'error',
      from: {
        path: '^packages/[^/]+/src/',
        pathNot: '^packages/(interpose/|tiered/src/cli/shared/)',
      },
      to: { path: '^packages/interpose/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'help-loads-little',
      comment: '`tiered --help` loads this. A command loads what it needs when it runs, by `await import`.',
      severity: 'error',
      from: { path: EARLY },
      to: {
        pathNot: [EARLY, '^packages/core/', 'node_modules/commander/'],
        dynamic: false,
        dependencyTypesNot: ['type-only', 'core'],
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: ['node_modules'] },
    exclude: { path: ['/dist/'] },
    enhancedResolveOptions: { conditionNames: ['tiered-source', 'import'], exportsFields: ['exports'] },
  },
};
