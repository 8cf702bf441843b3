/** The documents of an app besides its OpenAPI document: `/llms.txt` and `/.well-known/x402`. */
import { formatDecimal } from '../../shared/money/decimal.js'
import { X402_VERSION } from '../../shared/protocol/payment.js'
import { openApiPath, parametersOf } from './express-routes.js'
import { GUIDANCE, titleOf, type DescribedApp, type PricedRoute } from './openapi.js'

export function writeLlms(app: DescribedApp): string {
  const { root, routes } = app
  const lines = routes.map((route) => {
    const { description, summary = description } = route.route.options
    const words = summary ? `: ${summary.replaceAll(/\s+/g, ' ')}` : ''
    return `- \`${route.method} ${root}${openApiPath(route.path) ?? route.path}\` (${priceWords(route)})${words}`
  })
  return `# ${titleOf(app)}

> ${GUIDANCE}

Inputs, outputs and examples: ${root}/openapi.json

## Paid resources

${lines.join('\n')}
`
}

function priceWords({ price: { price, range, isMaximum } }: PricedRoute): string {
  const most = isMaximum ? 'up to ' : ''
  if (range !== undefined) {
    const { min, max, currency } = range
    return `${most || `${formatDecimal(min)} to `}${formatDecimal(max)} ${currency}, by the request`
  }
  if (price === undefined) return 'the price depends on the request'
  if (price.kind === 'fiat') return `${most}${formatDecimal(price.amount)} ${price.currency}`
  return `${most}${price.amount} units of ${price.asset} on ${price.network}`
}

/**
 * Lists the paid resources for crawlers that read `/.well-known/x402`: URLs alone, since an entry that is only partly
 * filled is refused. Some crawlers look for `version`, others for `x402Version`.
 */
export function writeWellKnown({ root, routes }: DescribedApp): object {
  const urls = routes.flatMap((route) => {
    const path = examplePath(route)
    return path === undefined ? [] : [root + path]
  })
  return { version: 1, x402Version: X402_VERSION, resources: [...new Set(urls)] }
}

/** A path with the example's parameters; `undefined` if one has no example. */
function examplePath({ path, route }: PricedRoute): string | undefined {
  const examples = route.declaration?.examples?.params ?? {}
  if (parametersOf(path).some((name) => examples[name] === undefined)) return undefined
  return openApiPath(path)?.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String(examples[name])),
  )
}
