import { expect, it } from '@jest/globals'
import { RpcChain } from '../../../../../src/core/chain/chain.js'
import { addressOfKey } from '../../../../../src/shared/crypto/address-of-key.js'
import { UPTO, type PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { readAuthorization } from '../../../../../src/core/schemes/evm/erc3009/payload.js'
import { methodOf } from '../../../../../src/core/schemes/evm/transfer-methods.js'
import { settlementAssets } from '../../../../../src/core/schemes/evm/transfer/settlement-asset.js'
import { TransferSimulator } from '../../../../../src/core/schemes/evm/network/simulate.js'
import { readPermit } from '../../../../../src/core/schemes/evm/permit2/payload.js'
import { parseEcdsaSignature } from '../../../../../src/core/schemes/evm/verify/signature.js'
import { offerOf, usdc } from '../../../../support/core.js'
import { useCleanup, closedBy } from '../../../../support/cleanup.js'
import { useDevnet } from '../../../../support/devnet.js'
import { newPayer } from '../../../../support/on-chain.js'
import { startRpcProxy } from '../../../../support/rpc-proxy.js'
import { signPayment } from '../../../../support/sign-payment.js'
import { signPermit } from '../../../../support/sign-permit.js'

const devnet = useDevnet()
const toEnd = useCleanup()

it('a metered transfer that the node does not answer about stops no other one', async () => {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  let isAsked = false
  // Metered calls are made by the account that the payer has named: its code is replaced.
  proxy.fault = (method, params) => {
    if (method !== 'eth_call' || params.length < 3) return undefined
    isAsked = true
    return new Promise(() => undefined)
  }
  const { network } = usdc
  const simulator = new TransferSimulator(
    new RpcChain({ network, rpcUrl: proxy.url, timeoutMs: 5000 }),
  )
  const asset = [...settlementAssets([{ ...usdc, address: devnet.asset }]).values()][0]!
  const simulate = ({ payload }: PaymentPayload) => {
    const read = 'authorization' in payload ? readAuthorization(payload) : readPermit(payload)
    if (!read.ok) throw new Error('The payment is unreadable.')
    const facts = read.value
    const signature = parseEcdsaSignature(methodOf(facts).signatureOf(facts))!
    return simulator.simulate({ facts, signature }, asset)
  }
  const payer = await newPayer(devnet)
  const facilitatorAddress = addressOfKey(devnet.relayerKeys[0]!)
  const metered = offerOf(devnet, {
    scheme: UPTO,
    extra: { assetTransferMethod: 'permit2', facilitatorAddress },
  })
  const results = await Promise.allSettled([
    simulate(await signPermit(payer, metered)),
    simulate(await signPayment(payer, offerOf(devnet))),
  ])
  expect(isAsked).toBe(true)
  expect(results).toMatchObject([
    { status: 'rejected', reason: { code: 'chain_unreachable' } },
    { status: 'fulfilled', value: { succeeds: true } },
  ])
})
