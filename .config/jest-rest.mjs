// What `npm test` leaves out.
import base from './jest.mjs'
import { restTests, root } from './lanes.mjs'

export default { ...base, rootDir: root, testMatch: restTests }
