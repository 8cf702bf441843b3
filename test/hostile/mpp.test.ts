/** Credentials of MPP that are not what they seem, or where they do not belong. */
import { request as httpRequest } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { createGateway } from '../../src/gateway/gateway.js'
import type { PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { closedBy, useCleanup } from '../support/cleanup.js'
import {
  challengesOf,
  credentialText,
  receiptOf,
  signCredential,
  type CredentialOverrides,
  type SeenChallenge,
} from '../support/mpp.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'
import { newNonce, signPayment } from '../support/sign-payment.js'

const devnet = useDevnet()
const income = () => balanceOf(devnet, devnet.merchant.address)
const toEnd = useCleanup()

let runs = 0
let price = '$0.01'
const handler: RequestHandler = (req, res) => {
  runs++
  res.json({ n: runs, authorization: req.headers.authorization, raw: req.rawHeaders.join('\n') })
}
const protocols = ['x402', 'mpp'] as const
const shop = useShop(
  devnet,
  (app, gateway) => {
    const paid = gateway.x402Protect('$0.01', { protocols })
    app.get('/both', paid, handler)
    app.get('/same/:id', gateway.x402Protect('$0.01', { protocols }), handler)
    app.post('/body', express.json(), gateway.x402Protect('$0.01', { protocols }), handler)
    app.post('/upload', gateway.x402Protect('$0.01', { protocols }), handler)
    app.all('/any', gateway.x402Protect('$0.01', { protocols }), handler)
    app.get('/priced', gateway.x402Protect(() => price, { protocols }), handler)
    app.get('/other', gateway.x402Protect('$0.01', { protocols, merchant: 'other' }), handler)
    app.get('/x402', gateway.x402Protect('$0.01'), handler)
    app.get('/brief', gateway.x402Protect('$0.01', { protocols, maxTimeoutSeconds: 10, minValiditySeconds: 0 }), handler)
  },
  () => {
    const options = shopOptions(devnet)
    const [project] = options.projects!
    const other = { id: 'other', tokens: [`${SHOP_TOKEN}-2`], merchant: { payTo: devnet.payers[9]!.address } }
    return { ...options, projects: [{ ...project!, id: 'shop' }, other] }
  },
)
