/** A site whose callers sign in, behind one URL, and what they sign. */
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type CompleteSIWxInfo,
  type SIWxExtensionInfo,
  type SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import express, { type Express } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { PaymentRequired } from '../../../src/shared/protocol/payment.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import { shopOptions } from '../../support/devnet.js'
import { listen } from '../../support/http.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { signPayment, type TestPayer } from '../../support/sign-payment.js'

export const CHAIN = 'eip155:84532'

export interface Site {
  readonly url: string
  readonly gateways: readonly Gateway[]
  /** Which gateway answers. */
  turn: number
  close(): Promise<void>
}

/** Opens several gateways on one URL, which answer in turns as a test says. */
export async function openSite(
  devnet: Devnet,
  routes: (app: Express, gateway: Gateway) => void,
  options: readonly GatewayOptions[] = [{}],
): Promise<Site> {
  const apps: Express[] = []
  const { url, close } = await listen((req, res) => apps[site.turn]!(req, res))
  const gateways = options.map((one) =>
    createGateway(shopOptions(devnet, { publicUrl: url, ...one })),
  )
  for (const gateway of gateways) {
    const app = express()
    routes(app, gateway)
    apps.push(app)
  }
  const site: Site = {
    url,
    gateways,
    turn: 0,
    async close() {
      await close()
      await Promise.all(gateways.map((gateway) => gateway.close()))
    },
  }
  return site
}

export const ask = (url: string, headers: Record<string, string> = {}, init?: RequestInit) =>
  fetch(url, { ...init, headers })

/** What a 402 asks to sign. */
export function challengeOf(response: Response): {
  readonly info: SIWxExtensionInfo
  readonly supportedChains: readonly { readonly chainId: string; readonly type: string }[]
} {
  const { extensions } = paymentRequiredOf(response)
  return (extensions as Record<string, never>)['sign-in-with-x']!
}

/** Signs in with the official client's own functions. @param changes - What is signed otherwise. */
export async function signIn(
  url: string,
  payer: TestPayer,
  changes: Partial<CompleteSIWxInfo> = {},
): Promise<SIWxPayload> {
  const { info } = challengeOf(await ask(url))
  const complete = { ...info, chainId: CHAIN, type: 'eip191' as const, ...changes }
  const { signMessage } = privateKeyToAccount(payer.privateKey)
  // The address of a contract account is not its key's.
  const signer = {
    address: payer.address,
    signMessage: ({ message }: { message: string }) => signMessage({ message }),
  }
  return createSIWxPayload(complete, signer, complete.uri)
}

export const signInHeader = (payload: SIWxPayload): Record<string, string> => ({
  'SIGN-IN-WITH-X': encodeSIWxHeader(payload),
})

/** Asks, signs in, and asks again. */
export const comeBack = async (url: string, payer: TestPayer): Promise<Response> =>
  ask(url, signInHeader(await signIn(url, payer)))

/** Asks, signs a payment and pays. */
export async function pay(
  url: string,
  payer: TestPayer,
  headers: Record<string, string> = {},
  document?: PaymentRequired,
): Promise<Response> {
  const { accepts, resource } = document ?? paymentRequiredOf(await ask(url))
  const payment = await signPayment(payer, accepts[0]!, { payload: { resource: { ...resource } } })
  const encoded = Buffer.from(JSON.stringify(payment)).toString('base64')
  return ask(url, { ...headers, 'PAYMENT-SIGNATURE': encoded })
}

/** The reason in a 402. */
export const errorOf = (response: Response): string | undefined =>
  response.status === 402 ? paymentRequiredOf(response).error : undefined
