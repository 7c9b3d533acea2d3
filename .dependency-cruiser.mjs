/**
 * No two modules import each other, not even their types: each can be read, tested and moved with what it
 * imports, and nothing else.
 */
export default {
  forbidden: [{ name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } }],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: ['node_modules'] },
    exclude: { path: ['/dist/'] },
    enhancedResolveOptions: { conditionNames: ['tiered-source', 'import'], exportsFields: ['exports'] },
  },
};
