import { hashToken } from '../../merchants/project.js'
import type { Hex } from '../../protocol/payment.js'
import { tokensFor, type Answers } from './answers.js'

/** What a new configuration is written from. */
export interface Template extends Answers {
  /** Address of the relayer whose key is in `.env`. */
  readonly relayer: Hex
  /** Identify token of the project, of which the hash is kept. */
  readonly token: string
}

const json = (value: unknown): string => JSON.stringify(value)

/** Writes a configuration with comments. */
export function configText(template: Template): string {
  const { network, payTo, currency, publicUrl, relayer, token } = template
  const { assets, needsRates } = tokensFor(template)
  const url = publicUrl || 'https://pay.example.com'
  return `// Configuration of express-x402-gateway. \`npx express-x402-gateway doctor\` checks it.
// \${NAME} stands for an environment variable: those below are in .env, which only you can read.
{
  // URL at which clients reach the gateway. If not set, it is taken from each request.
  ${publicUrl ? '' : '// '}"publicUrl": ${json(url)},

  // Name of the UCP handler, if you use UCP: your domain in reverse, and a word.
  // "handlerId": "com.example.payment",

  "networks": {
    ${json(network)}: {
      // JSON-RPC of a node. Public nodes limit requests: take one of a provider for real use.
      "rpcUrl": "\${RPC_URL}",
      // Keys of accounts that send the transactions and pay their gas. This one is
      // ${relayer}: it needs some of the network's native currency.
      "relayerKeys": ["\${RELAYER_KEY}"],
      // Nothing is sent while gas costs more than this, in gwei.
      // "maxFeePerGasGwei": 5,
      // Tokens to accept.
      "assets": ${json(assets).replaceAll(',', ', ')}
    }
  },

  // Who is paid. Each project has a merchant, and tokens with which its shops sign in to the API.
  "projects": [
    {
      "id": "shop",
      // SHA-256 of the token in X-Project-Identify-Token; \`npx express-x402-gateway token\` makes others.
      "tokens": [${json(hashToken(token))}],
      "merchant": {
        "payTo": ${json(payTo)},
        // Currency of prices that name none.
        "currency": ${json(currency)}${needsRates ? ',\n        // No token here is pegged to that currency: prices are converted.\n        "crossCurrency": true,\n        "fxBufferBps": 50' : ''}
      }
    }
  ],
${needsRates ? '\n  // Rates of currencies; these are those of the European Central Bank.\n  "rates": { "http": { "url": "https://api.frankfurter.dev/v1", "name": "ECB" } },\n' : ''}
  // Requests to the API, by address and by project.
  "rateLimit": { "windowMs": 60000, "limit": 600 }
}
`
}

/** Writes the file that holds secrets. */
export function envText({ rpcUrl, key }: { readonly rpcUrl: string; readonly key: Hex }): string {
  return `# Secrets of gateway.config.json. Keep this file out of version control, and keep a copy of the key.
RPC_URL="${new URL(rpcUrl).href}"
RELAYER_KEY=${key}
`
}
