import type { Express } from 'express'
import { ConfigError } from '../errors.js'
import type { Gateway } from '../gateway.js'

/** An app of Express 4 or 5. */
export type ExpressApp = Pick<Express, 'listen' | 'use'>

/** A module that exports an app as `app` or by default, as `import()` and `require` give it. */
export type AppModule = { readonly app: ExpressApp } | { readonly default: ExpressApp | AppModule }

/** Makes the app of a shop. */
export type AppBuilder = (
  gateway: Gateway,
) => ExpressApp | AppModule | Promise<ExpressApp | AppModule>

/** Whether an app is made with the gateway that is passed to it. */
export function takesGateway(given: ExpressApp | AppModule | AppBuilder): given is AppBuilder {
  return typeof given === 'function' && !isApp(given) && given.length > 0
}

/**
 * Finds the app in what was passed to `startTestShop`.
 *
 * @throws `ConfigError` where there is none.
 */
export async function openApp(given: ExpressApp | AppModule | (() => unknown)): Promise<Express> {
  const isBuilder = typeof given === 'function' && !isApp(given)
  const app = appIn(isBuilder ? await (given as () => unknown)() : given)
  if (app !== undefined) return app
  throw new ConfigError(
    'app',
    `${isBuilder ? 'the function returns' : 'this is'} no Express app, and no module that exports one as 'app' or by default`,
    'invalid_type',
  )
}

function appIn(value: unknown): Express | undefined {
  if (isApp(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  const { app, default: byDefault } = value as { app?: unknown; default?: unknown }
  // A CommonJS module that is imported has all its exports in `default`, too.
  return appIn(app) ?? appIn(byDefault)
}

function isApp(value: unknown): value is Express {
  return typeof value === 'function' && typeof Reflect.get(value, 'handle') === 'function'
}
