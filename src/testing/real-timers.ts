import { ConfigError } from '../errors.js'

/**
 * Refuses to work under fake timers: chain and gateway would wait for ever.
 *
 * @throws `ConfigError`
 */
export function requireRealTimers(): void {
  // `clock` is that of @sinonjs/fake-timers, which vitest and jest use; node:test binds its own.
  const isFake =
    'clock' in setTimeout || '_isMockFunction' in setTimeout || setTimeout.name.startsWith('bound ')
  if (!isFake) return
  throw new ConfigError(
    'startTestShop',
    "timers are faked, but a shop needs real ones: fake the date alone, e.g. vi.useFakeTimers({ toFake: ['Date'] }), or pass `now` to the gateway",
    'conflicting_options',
  )
}
