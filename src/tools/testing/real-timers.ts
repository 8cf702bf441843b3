import { ConfigError } from '../../shared/errors.js'

/**
 * Refuses to work under fake timers that stand still: chain and gateway would wait for ever.
 *
 * @throws `ConfigError`
 */
export function requireRealTimers(): void {
  // That of @sinonjs/fake-timers, which vitest and jest use. With `shouldAdvanceTime` it goes on.
  const { clock } = setTimeout as { readonly clock?: { readonly attachedInterval?: unknown } }
  const isStopped = clock !== undefined && clock.attachedInterval === undefined
  // jest's legacy timers are mocks, and those of node:test are bound.
  const isMock = '_isMockFunction' in setTimeout || setTimeout.name.startsWith('bound ')
  if (!isStopped && !isMock) return
  throw new ConfigError(
    'startTestShop',
    "timers are faked, but a shop needs real ones: fake the date alone, e.g. vi.useFakeTimers({ toFake: ['Date'] }), or pass `now` to the gateway",
    'conflicting_options',
  )
}
