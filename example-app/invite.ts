/** Tells where to click, and what can be tried by hand. */
import { TOKENS } from './gateway.js'

/** What the invitation names. */
export interface Invitation {
  /** Root URL of the shop. */
  readonly url: string
  readonly rpcUrl: string
  readonly memberKey: string
  /** Key of an account with play money. */
  readonly privateKey: string
  /** A payment for the weather that was not presented yet: `PAYMENT-SIGNATURE`. */
  readonly signature: string
}

/** Writes the invitation. */
export function invitation({ url, rpcUrl, memberKey, privateKey, signature }: Invitation): string {
  const token = `-H 'X-Project-Identify-Token: ${TOKENS.shop}'`
  const json = `${token} -H 'Content-Type: application/json'`
  return `
Open it in a browser.

  Shop        ${url}/              buys with play money
  Paywall     ${url}/essay         what a browser meets without a payment
  Console     ${url}/console/      sign in with ${TOKENS.admin}
  API         ${url}/api/v2/docs
  Metrics     ${url}/metrics

The paywall pays with a wallet of your browser. Add a network there, with RPC URL ${rpcUrl} and chain
id 84532, and import an account with play money: ${privateKey}
Keys and tokens here are for the devnet only: everybody knows them.

Or try it by hand.

# free, for a price, for a price that depends, and for members
curl -i ${url}/
curl -i ${url}/weather
curl -i '${url}/headlines?words=20'
curl -i ${url}/report -H 'X-API-Key: ${memberKey}'

# the gateway's API
curl -i ${url}/api/v2/payment/supported ${token}
curl -i ${url}/api/v2/payment/requirements ${json} -d '{"resourceUrl":"${url}/weather","requestedAmount":0.01}'
curl -i ${url}/api/v2/merchant/checkout-prepare ${json} -d '{"amount":"15.00","currency":"USD","resource":{"url":"${url}/cart/42"}}'
curl -i ${url}/.well-known/ucp
curl -i ${url}/ucp/gateway.md

# a payment that is signed already: good for five minutes, and once; a second time it is refused
curl -i ${url}/weather -H 'PAYMENT-SIGNATURE: ${signature}'

Ctrl-C ends everything.`
}
