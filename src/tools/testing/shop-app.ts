import type { Express } from 'express'
import { ConfigError } from '../../shared/errors.js'
import { omitUndefined } from '../../gateway/config/resolve/fields.js'
import { createGateway } from '../../gateway/gateway.js'
import type { Gateway, GatewayOptions, Hex } from '../../index.js'
import type { Cleanup } from './cleanup.js'
import { defaultOptions, requireFirst } from './default-stand-in.js'
import type { TestShopOptions } from './test-shop.js'

/** An app of Express 4 or 5. */
export type ExpressApp = Pick<Express, 'listen' | 'use'>

/** A module that exports an app as `app` or by default, as `import()` and `require` give it. */
export type AppModule = { readonly app: ExpressApp } | { readonly default: ExpressApp | AppModule }

/**
 * Makes the app of a shop with the gateway that takes its payments. May be `async`.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import type { AppBuilder } from 'express-x402-gateway/testing'
 *
 * const makeApp: AppBuilder = ({ x402Protect }) =>
 *   express().get('/report', x402Protect('$0.25'), (_req, res) => void res.json({ sold: true }))
 * ```
 */
export type AppBuilder = (
  gateway: Gateway,
) => ExpressApp | AppModule | Promise<ExpressApp | AppModule>

/** Options of a shop's gateway by source. */
interface ShopOptions {
  /** App and test may override these. */
  readonly preset: GatewayOptions
  readonly options: TestShopOptions
  readonly fixed: GatewayOptions
}

/**
 * Finds or makes the app, and opens its gateway.
 *
 * An app that does not take the gateway may set options of the default gateway while it is built, so
 * its gateway is opened afterwards.
 *
 * @throws `ConfigError` if there is no app, or its options are wrong.
 *
 * @internal
 */
export async function openAppAndGateway(
  given: ExpressApp | AppModule | AppBuilder,
  { preset, options, fixed }: ShopOptions,
  cleanup: Cleanup,
) {
  const takesGateway = isBuilder(given) && given.length > 0
  if (!takesGateway) requireFirst()
  let app = takesGateway ? undefined : await openApp(given)
  const { merchant, ...others } = omitUndefined(options)
  const all = { ...preset, ...ofApp(defaultOptions()), ...others, ...fixed }
  if (merchant !== undefined && all.projects !== preset.projects)
    throw new ConfigError(
      'merchant',
      "completes the shop's own project, which `projects` replaces: write it there",
      'conflicting_options',
    )
  const gateway = createGateway(all)
  cleanup.add(() => gateway.close())
  app ??= await openApp(given, gateway)
  // The first merchant's, checked by the gateway.
  const paidTo = all.projects?.[0]?.merchant?.payTo as Hex
  return { app, gateway, paidTo }
}

/** Options of the app's default gateway that tests keep; the others concern production. */
const KEPT = [
  'rates',
  'projects',
  'admin',
  'console',
  'metrics',
  'paywall',
  'ucp',
  'handlerId',
  'networkNames',
] as const satisfies readonly (keyof GatewayOptions)[]

function ofApp(options: GatewayOptions): GatewayOptions {
  const kept = KEPT.filter((name) => options[name] !== undefined)
  return Object.fromEntries(kept.map((name) => [name, options[name]]))
}

/** @param gateway - Present if the app takes it. */
async function openApp(
  given: ExpressApp | AppModule | AppBuilder,
  gateway?: Gateway,
): Promise<Express> {
  const app = appIn(isBuilder(given) ? await given(gateway as Gateway) : given)
  if (app !== undefined) return app
  throw new ConfigError(
    'app',
    `${isBuilder(given) ? 'the function must return' : 'must be'} an Express app, or a module that exports one as 'app' or by default`,
    'invalid_type',
  )
}

function isBuilder(given: ExpressApp | AppModule | AppBuilder): given is AppBuilder {
  return typeof given === 'function' && !isApp(given)
}

function appIn(value: unknown): Express | undefined {
  if (isApp(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  const { app, default: byDefault } = value as { app?: unknown; default?: unknown }
  // `import()` of a CommonJS module also puts all exports into `default`.
  return appIn(app) ?? appIn(byDefault)
}

function isApp(value: unknown): value is Express {
  return typeof value === 'function' && typeof Reflect.get(value, 'handle') === 'function'
}
