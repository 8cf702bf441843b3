import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Set by `.ci/run`: the file that gets the line "N passed, N failed". */
const summaryFile = process.env.TEST_SUMMARY_FILE

/** Coverage is counted in what Jest itself has compiled. */
const runtime = process.argv.includes('--coverage')
  ? {}
  : { runtime: fileURLToPath(new URL('jest-shared/runtime.cjs', import.meta.url)) }

export default {
  ...runtime,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/bench/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/\\.dist-'],
  moduleFileExtensions: ['ts', 'cts', 'js', 'mjs', 'cjs', 'json', 'node'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^(\\.{1,2}/(?:.*/)?(?:load-peer|templates|translations|own-package))\\.cjs$': '$1.cts',
    // The example imports the package by its name, as tsconfig.json has it.
    '^express-x402-gateway$': '<rootDir>/src/index.ts',
  },
  transform: {
    '^.+\\.cts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }],
  },
  // Every answer of a gateway is compared with the OpenAPI document.
  setupFilesAfterEnv: ['<rootDir>/test/support/watch-answers.ts'],
  // Many times what the longest takes: a busy machine fails no test.
  testTimeout: 600_000,
  // ES modules of a test file stay in memory as long as the process that has run it.
  workerIdleMemoryLimit: '1500MB',
  // Most tests wait for blocks, locks and other processes: two cores keep four workers busy.
  maxWorkers: Math.max(4, Math.floor(availableParallelism() / 2)),
  reporters: summaryFile
    ? ['default', ['<rootDir>/.config/jest-summary.mjs', { file: summaryFile }]]
    : ['default'],
  // V8 counts a function that never ran as one branch, however many it holds.
  coverageProvider: 'babel',
  // Pages run in a browser, where their tests drive them.
  collectCoverageFrom: ['src/**/*.ts', '!src/tools/devnet/artifacts.ts', '!src/pages/**'],
  coverageThreshold: { global: { lines: 95, branches: 90 } },
}
