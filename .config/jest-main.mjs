// What `npm test` runs.
import base from './jest.mjs'
import { mainTests, root } from './lanes.mjs'

export default { ...base, rootDir: root, testMatch: mainTests }
