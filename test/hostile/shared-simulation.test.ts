import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { concatHex, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { keccakHex } from '../../src/shared/crypto/keccak.js'
import type { Hex, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { deploy, walletCode } from '../support/contracts.js'
import { offerOf, openCore, type Core } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { startRpcProxy, type Fault } from '../support/rpc-proxy.js'
import { newNonce, signPayment } from '../support/sign-payment.js'
import { useOpened } from '../support/use-opened.js'

const devnet = useDevnet()
const APPROVED: Hex = `0x${'ab'.repeat(32)}`
let core: Core

const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
beforeEach(() => {
  core = openCore(devnet, { rpcUrl: proxy.url })
})
afterEach(() => {
  proxy.fault = undefined
  core.close()
})

const verify = (payment: PaymentPayload) => core.facilitator.verify(payment, offerOf(devnet))
const valid = expect.objectContaining({ isValid: true })
const invalid = (invalidReason: string) =>
  expect.objectContaining({ isValid: false, invalidReason })

/** A payment that an account with such code approves. */
async function walletPayment(code: Hex = walletCode(APPROVED), signature: Hex = `${APPROVED}cd`) {
  const from = await deploy(devnet, code)
  await devnet.mint(from, 1_000_000n)
  const { payload, ...rest } = await signPayment(devnet.payers[0]!, offerOf(devnet))
  const authorization = { ...(payload['authorization'] as object), from }
  return { ...rest, payload: { authorization, signature } }
}

/** A payer without money. */
function poorPayer() {
  const privateKey = newNonce()
  return { privateKey, address: privateKeyToAccount(privateKey).address }
}

/** Whether a request runs code that is deployed nowhere. */
const runsCode = (method: string, [call]: readonly unknown[]): boolean =>
  method === 'eth_call' && !('to' in (call as object))

describe('transfers that are simulated in one request', () => {
  it('work with a code hash that begins with 0xef (EIP-3541)', async () => {
    const codes = Array.from({ length: 10_000 }, (_, index) =>
      concatHex([walletCode(APPROVED), numberToHex(index, { size: 2 })]),
    )
    const code = codes.find((one) => keccakHex(one).startsWith('0xef'))!
    const [first, forged] = [
      await walletPayment(code),
      await walletPayment(code, `${newNonce()}cd`),
    ]
    const others = await Promise.all(
      [1, 2].map(async () => signPayment(await newPayer(devnet), offerOf(devnet))),
    )
    let requests = 0
    proxy.fault = (method, params) => {
      if (runsCode(method, params)) requests++
      return undefined
    }
    proxy.methods.length = 0
    expect(await Promise.all([first, forged, ...others].map(verify))).toEqual([
      valid,
      invalid('invalid_exact_evm_payload_signature'),
      valid,
      valid,
    ])
    expect(requests).toBe(1)
    // Nor was any simulated again, alone.
    expect(proxy.methods).not.toContain('eth_getCode')
  })
})

describe('a node that does not run the gateway’s code', () => {
  const faults: [string, Fault][] = [
    ['and refuses it', { kind: 'refuse', code: -32602, message: 'missing field `to`' }],
    ['and calls it reverted', { kind: 'refuse', code: 3, message: 'execution reverted' }],
    ['and answers with nothing', { kind: 'answer', result: '0x' }],
  ]
  it.each(faults)(
    '%s, still distinguishes valid payments from invalid ones',
    async (_how, fault) => {
      proxy.fault = (method, params) => (runsCode(method, params) ? fault : undefined)
      const [good, poor, forged] = [
        await signPayment(await newPayer(devnet), offerOf(devnet)),
        await signPayment(poorPayer(), offerOf(devnet)),
        await walletPayment(walletCode(APPROVED), `${newNonce()}cd`),
      ]
      const approved = await walletPayment()
      expect(await Promise.all([good, poor, forged, approved].map(verify))).toEqual([
        valid,
        invalid('insufficient_funds'),
        invalid('invalid_exact_evm_payload_signature'),
        valid,
      ])
      expect(await core.facilitator.settle(good, offerOf(devnet))).toMatchObject({ success: true })
    },
  )
})
