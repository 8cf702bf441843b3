// The fast lane, in one process: another would load everything again.
import base from './jest.mjs'
import { root, unitTests } from './lanes.mjs'

export default {
  ...base,
  rootDir: root,
  testMatch: unitTests,
  maxWorkers: 1,
  workerIdleMemoryLimit: undefined,
}
