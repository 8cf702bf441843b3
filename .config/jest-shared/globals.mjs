// What `@jest/globals` exports, each time of the test file that runs now.
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

const current = () => globalThis[Symbol.for('globals of the test file')]
const nowOf = (name) =>
  new Proxy(function () {}, {
    apply: (_target, _this, values) => current()[name](...values),
    get: (_target, member) => current()[name][member],
  })

export const afterAll = nowOf('afterAll')
export const afterEach = nowOf('afterEach')
export const beforeAll = nowOf('beforeAll')
export const beforeEach = nowOf('beforeEach')
export const describe = nowOf('describe')
export const expect = nowOf('expect')
export const it = nowOf('it')
export const test = nowOf('test')

const mocker = new ModuleMocker(globalThis)
const timers = new ModernFakeTimers({ config: { fakeTimers: {} }, global: globalThis })
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  useFakeTimers: (config) => timers.useFakeTimers(config),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
}
