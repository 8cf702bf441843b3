import { Router, type RequestHandler } from 'express'
import { createPayPage, type PayPageContext } from '../../sell/links/pay-page.js'
import type { AdminContext } from '../../api/admin/context.js'
import { Operations } from '../../operate/health/operations.js'
import type { RouterContext } from '../../api/context.js'
import { createGatewayRouter, type GatewayRouterOptions } from '../../api/gateway-router.js'
import { Downloads } from '../../api/settlements/download/downloads.js'
import { RevenueReader } from '../../api/settlements/views/revenue-reader.js'
import type { Core } from './core.js'

type SharedParts = 'downloads' | 'revenue' | 'operations'

/** Dependencies of the API, apart from those that are made here. */
export type ApiContext = Omit<RouterContext & AdminContext, SharedParts> & {
  readonly paidRoutes: PayPageContext
}

/**
 * Wires the API, payment links, and the console where there are admin tokens.
 *
 * @returns The maker of their routers.
 */
export async function openRouter(
  { paidRoutes, ...context }: ApiContext,
  cores: Core['cores'],
): Promise<(options?: GatewayRouterOptions) => RequestHandler> {
  const { ledger, counters, now } = context
  const shared = {
    ...context,
    downloads: new Downloads(),
    revenue: new RevenueReader(ledger.payments),
    operations: new Operations({ cores, ledger, counters, now }),
  }
  const payPage = createPayPage(paidRoutes)
  const withConsole =
    context.adminTokens.length > 0 && (await import('../../api/session/mount-console.js'))
  return (options) => {
    const mounted = withConsole ? withConsole.mountConsole(shared) : {}
    return Router().use(payPage, createGatewayRouter({ ...shared, ...mounted }, options))
  }
}
