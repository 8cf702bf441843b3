import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentOption } from '@x402/core/http'
import type { FacilitatorClient } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as ExactEvmFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as ExactEvmServer } from '@x402/evm/exact/server'
import { UptoEvmScheme as UptoEvmFacilitator } from '@x402/evm/upto/facilitator'
import { UptoEvmScheme as UptoEvmServer } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import express from 'express'
import { type Chain, createWalletClient, http, nonceManager, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import {
  AMOUNT,
  API,
  CHARGED,
  FREE,
  GOODS,
  PAID,
  PRICE,
  TOKEN_DOMAIN,
  WARM_UP,
  type ServerApp,
} from './setup.js'

const NETWORK = 'eip155:84532'
const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/** Milliseconds between two looks for a receipt; more often is no faster. */
const POLLING_INTERVAL_MS = 50

/**
 * The official packages at their best: the facilitator in the same process, so that no HTTP is
 * between it and the middleware, and viem's nonce manager, without which most of several payments
 * at once fail.
 */
export const official: ServerApp = async ({
  rpcUrl,
  relayerKeys,
  payTo,
  pays = 'erc3009',
  warmUpChain,
}) => {
  const [key] = relayerKeys
  if (key === undefined) throw new TypeError('there is no relayer')
  const account = privateKeyToAccount(key, { nonceManager })
  const isUpto = pays === 'upto'
  const scheme = isUpto ? 'upto' : 'exact'
  const [Facilitator, Server] = isUpto
    ? [UptoEvmFacilitator, UptoEvmServer]
    : [ExactEvmFacilitator, ExactEvmServer]
  const schemeOn = (url: string, chain: Chain) => {
    const client = createWalletClient({
      account,
      chain,
      transport: http(url),
      pollingInterval: POLLING_INTERVAL_MS,
    }).extend(publicActions)
    // The client's methods take more than the signer's do, and their types do not meet.
    return new Facilitator(toFacilitatorEvmSigner({ ...client, address: account.address } as never))
  }
  const facilitator = new x402Facilitator().register(NETWORK, schemeOn(rpcUrl, baseSepolia))

  const inProcess: FacilitatorClient = {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () => facilitator.getSupported() as never,
  }
  const server = new x402ResourceServer(inProcess).register(NETWORK, new Server())
  const extra = { ...TOKEN_DOMAIN, ...(pays !== 'erc3009' && { assetTransferMethod: 'permit2' }) }
  const usual = pays === 'erc3009' ? PRICE : { amount: AMOUNT, asset: USDC, extra }
  const accepts: PaymentOption[] = [{ scheme, network: NETWORK, price: usual, payTo }]
  if (warmUpChain !== undefined) {
    const { caip2: network, chainId: id } = WARM_UP
    const { asset } = warmUpChain
    facilitator.register(network, schemeOn(warmUpChain.rpcUrl, { ...baseSepolia, id }))
    server.register(network, new Server())
    accepts.push({ scheme, network, price: { amount: AMOUNT, asset, extra }, payTo })
  }

  const app = express()
  app.use(paymentMiddleware({ [`GET ${PAID}`]: { accepts } }, server))
  app.get(PAID, (_req, res) => {
    if (isUpto) setSettlementOverrides(res, { amount: CHARGED })
    res.json(GOODS)
  })
  app.get(FREE, (_req, res) => void res.json(GOODS))
  for (const call of ['verify', 'settle'] as const)
    app.post(API.official[call], express.json(), (req, res, next) => {
      const { paymentPayload, paymentRequirements } = req.body
      facilitator[call](paymentPayload, paymentRequirements).then((reply) => res.json(reply), next)
    })
  return app
}
