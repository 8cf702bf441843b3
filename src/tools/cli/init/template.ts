import { hashToken } from '../../../shared/crypto/identify-token.js'
import type { Hex } from '../../../shared/protocol/payment.js'
import { dollarsOf, type Answers } from './answers.js'

export interface Template extends Answers {
  readonly relayer: Hex
  /** Identify token of the project; only its hash is written. */
  readonly token: string
}

const json = (value: unknown): string => JSON.stringify(value)

export function configText(template: Template): string {
  const { network, payTo, relayer, token } = template
  return `// Configuration of express-x402-gateway. \`npx express-x402-gateway doctor\` checks it.
// \${NAME} stands for an environment variable: those below are in .env, which only you can read.
{
  // Public URL of the gateway. If not set, it is taken from each request.
  // "publicUrl": "https://pay.example.com",

  // Name of the UCP handler, if you use UCP: your domain in reverse, and a word.
  // "handlerId": "com.example.payment",

  "networks": {
    ${json(network)}: {
      // JSON-RPC node. Public nodes limit requests: use a provider's in production.
      "rpcUrl": "\${RPC_URL}",
      // Keys of accounts that send the transactions and pay the gas. This one is
      // ${relayer}; it needs some of the network's native currency.
      "relayerKeys": ["\${RELAYER_KEY}"],
      // Sends nothing while gas costs more than this, in gwei.
      // "maxFeePerGasGwei": 5,
      // Tokens to accept.
      "assets": ${json(dollarsOf(network)).replaceAll(',', ', ')}
    }
  },

  // Each project has a merchant, who is paid, and tokens for its shops to use the API.
  "projects": [
    {
      "id": "shop",
      // SHA-256 of the token in X-Project-Identify-Token; \`npx express-x402-gateway token\` makes others.
      "tokens": [${json(hashToken(token))}],
      "merchant": {
        "payTo": ${json(payTo)},
        // Currency of prices without one.
        "currency": "USD"
      }
    }
  ],

  // The console at /console/, and the admin API. Make a token: npx express-x402-gateway token
  // "admin": { "tokens": ["sha256:…"] },

  // If X402_METRICS_TOKEN is set, /metrics is on 127.0.0.1:9464. In a container, Prometheus needs this host:
  // "metrics": { "host": "0.0.0.0" },

  // API requests, per address and per project.
  "rateLimit": { "windowMs": 60000, "limit": 600 }
}
`
}

export function appEnvText(
  answers: Answers,
  relayer: { readonly key: Hex; readonly address: Hex },
): string {
  const { network, rpcUrl, payTo } = answers
  // Docker takes quotes literally, and `#` starts a comment in Node: neither is in the URL of a node.
  const node = Object.assign(new URL(rpcUrl), { hash: '' }).href
  return `# Payments of express-x402-gateway. Keep this file out of version control.
X402_NETWORK=${network}
X402_PAY_TO=${payTo}
X402_RPC_URL=${node}
# ${relayer.address} sends the transactions and pays their gas. Keep a copy of its key.
X402_RELAYER_KEY=${relayer.key}
X402_DATABASE_URL=sqlite:./data/ledger.db
# The app's root as its clients see it.
# X402_PUBLIC_URL=https://shop.example.com
# For the console at /console/. Make a token: npx express-x402-gateway token
# X402_ADMIN_TOKEN=sha256:…
`
}

export function envText({ rpcUrl, key }: { readonly rpcUrl: string; readonly key: Hex }): string {
  return `# Secrets of gateway.config.json. Keep this file out of version control, and keep a copy of the key.
RPC_URL="${new URL(rpcUrl).href}"
RELAYER_KEY=${key}
`
}
