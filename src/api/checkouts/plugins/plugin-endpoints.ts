/**
 * The paths that shops' plugins call.
 *
 * They were written for other versions of this API. Each path is `payment-profile` or `checkout-prepare` in
 * another place, or in another wrapping.
 */
import { notFound } from '../../../shared/http/respond-problem.js'
import { handlerDescriptor, UCP_VERSIONS } from '../ucp/handler.js'
import {
  checkoutBlock,
  checkoutBody,
  describeHandler,
  prepareCheckout,
  profileBlock,
} from '../checkout-endpoints.js'
import type { RouterContext } from '../../context.js'
import { defineEndpoint, type Call, type Endpoint } from '../../serve/define-endpoint.js'
import { docsUrlOf } from '../../serve/docs-url.js'
import { lazyDocuments } from '../../serve/lazy-documents.js'
import { WITH_CHAIN, WITH_RATE } from '../../serve/usual-problems.js'

const documents = lazyDocuments(() => import('../../documents/checkout.js'))

const common = { tag: 'Shop plugins', access: 'project', scope: 'settle' } as const

const discovery = { ...common, method: 'GET', ignoresQuery: true } as const

const preparation = {
  ...common,
  method: 'POST',
  body: checkoutBody,
  problems: [...WITH_RATE, ...WITH_CHAIN],
} as const

const params = { ucpVersion: 'Version of UCP that the shop speaks: a date, `2026-08-25`.' }

/** The handler's descriptor is the same for every version of UCP that it is valid for. */
function requireUcpVersion(_context: RouterContext, { param }: Pick<Call, 'param'>): void {
  if (UCP_VERSIONS.includes(param('ucpVersion'))) return
  notFound(
    `The handler is not described for this version of UCP; it is for ${UCP_VERSIONS.join(', ')}.`,
  )
}

const profile = { description: 'The block.', document: documents('paymentProfile') }
const checkout = { description: 'The block.', document: documents('checkoutPrepared') }

const ucpDiscovery: readonly Endpoint[] = [
  defineEndpoint({
    ...discovery,
    path: '/api/v2/merchant/ucp/handlers',
    id: 'getUcpHandlers',
    summary: 'Get the payment handler for a UCP profile',
    description: 'For Medusa, WooCommerce and PrestaShop.',
    responses: { 200: profile },
    handle: profileBlock,
  }),
  ...(['/api/v2/merchant/ucp', '/api/v2/ucp'] as const).map((prefix) =>
    defineEndpoint({
      ...discovery,
      path: `${prefix}/{ucpVersion}/handlers`,
      id: prefix === '/api/v2/ucp' ? 'getUcpHandlersByVersion' : 'getUcpHandlersOfVersion',
      summary: 'Get the payment handler for a UCP profile of a version',
      description: 'For Shopware and Saleor.',
      params,
      responses: { 200: profile },
      before: requireUcpVersion,
      handle: profileBlock,
    }),
  ),
  defineEndpoint({
    ...discovery,
    access: 'anyone',
    path: '/ucp/{ucpVersion}/handlers',
    id: 'getPublicUcpHandlers',
    summary: 'Get the payment handler for a UCP profile of a version, without a token',
    description: 'For newer Shopware and Saleor. It names no merchant.',
    params,
    responses: { 200: profile },
    before: requireUcpVersion,
    handle(context, { res }) {
      const { handlerId: id } = context
      return { [id]: [handlerDescriptor({ id, docsUrl: docsUrlOf(context, res) })] }
    },
  }),
]

const ucpPreparation: readonly Endpoint[] = [
  defineEndpoint({
    ...preparation,
    path: '/api/v2/merchant/ucp/payment-requirements',
    id: 'prepareUcpCheckout',
    summary: 'Turn a fiat price into the payment handler of a checkout',
    description: 'For Medusa, WooCommerce and PrestaShop.',
    responses: { 200: checkout },
    handle: checkoutBlock,
  }),
  defineEndpoint({
    ...preparation,
    path: '/api/v2/merchant/payment-requirements',
    id: 'preparePayment',
    summary: 'Turn a fiat price into the x402 envelope of a checkout',
    description: 'The `config` alone, for Shopware and Saleor.',
    responses: { 200: { description: 'The envelope.', document: documents('checkoutConfig') } },
    handle: prepareCheckout,
  }),
]

/** Both for ACP, whose handlers have more members. */
const acp: readonly Endpoint[] = [
  defineEndpoint({
    ...discovery,
    path: '/api/v2/merchant/acp/handlers',
    id: 'listAcpHandlers',
    summary: 'Get the payment handler for an ACP profile',
    description: 'For Medusa and Saleor.',
    responses: { 200: { description: 'A list of one.', document: documents('acpHandlers') } },
    handle: (context, call) => [acpHandler(describeHandler(context, call), {})],
  }),
  defineEndpoint({
    ...preparation,
    path: '/api/v2/merchant/acp/payment-requirements',
    id: 'prepareAcpCheckout',
    summary: 'Turn a fiat price into the ACP payment handler of a checkout',
    description: 'For Medusa and Saleor.',
    responses: { 200: { description: 'The handler.', document: documents('acpCheckout') } },
    async handle(context, call) {
      return acpHandler(describeHandler(context, call), await prepareCheckout(context, call))
    },
  }),
]

/** Everything that plugins ask for in places of their own. */
export const pluginEndpoints: readonly Endpoint[] = [...ucpDiscovery, ...ucpPreparation, ...acp]

/** Writes the handler as ACP does: once, with its schemas and demands beside its config. */
function acpHandler<Config extends object>(
  { id, version, spec, schema }: ReturnType<typeof handlerDescriptor>,
  config: Config,
) {
  return {
    id,
    name: id,
    version,
    spec,
    requires_delegate_payment: false as const,
    requires_pci_compliance: false as const,
    psp: 'x402',
    config_schema: schema,
    instrument_schemas: [schema.replace(/schema\.json$/, 'instrument_schema.json')],
    config,
  }
}
