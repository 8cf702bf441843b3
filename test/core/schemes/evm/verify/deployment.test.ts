import { describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import {
  concatHex,
  encodeFunctionData,
  numberToHex,
  serializeErc6492Signature,
  zeroHash,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { MULTICALL3 } from '../../../../../src/core/chain/abi.js'
import { PERMIT2 } from '../../../../../src/core/schemes/evm/transfer/address.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { smartAccountAbi, usdcAbi } from '../../../../tools/devnet/abis.js'
import {
  elsewhereFactoryCode,
  ownKeyDelegateCode,
  refusingFactoryCode,
} from '../../../../tools/devnet/hostile-code.js'
import {
  type CounterfactualAccount,
  counterfactualAccount,
  deployAccount,
  wrapPayment,
} from '../../../../tools/devnet/smart-account.js'
import { useCleanup, closedBy } from '../../../../support/cleanup.js'
import { deploy, endlessCode, walletCode } from '../../../../support/contracts.js'
import {
  askNode,
  type Core,
  type CoreOptions,
  offerOf,
  openCore,
  payingOn,
  termsOf,
} from '../../../../support/core.js'
import { delegate } from '../../../../support/delegation.js'
import { shopOptions, useDevnet } from '../../../../support/devnet.js'
import { newPayer, sendAs, signedAuthorization, undo } from '../../../../support/on-chain.js'
import { permit2On } from '../../../../support/permit2.js'
import { isSend, startRpcProxy } from '../../../../support/rpc-proxy.js'
import { openShop } from '../../../../support/shop.js'
import { signPayment } from '../../../../support/sign-payment.js'
import { until } from '../../../../support/until.js'
import { stopMining, resumeMining } from '../../../../support/mining.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const permit2 = permit2On(devnet)
const { sign, settle, reserve, merchantBalance } = payingOn(devnet)

/** A core that allows the devnet's factory, unless told otherwise. */
function open(options: CoreOptions = {}): Core {
  const core = openCore(devnet, { allowedFactories: [devnet.accountFactory], ...options })
  toEnd.push(() => core.close())
  return core
}

/** A core whose requests to the node pass a proxy. */
async function openProxied(options: CoreOptions = {}) {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  return { proxy, core: open({ ...options, rpcUrl: proxy.url }) }
}

/** Signs one cent for an account; `wrap` is its own unless told. */
async function payAs(
  { address, owner: { privateKey }, wrap: own }: CounterfactualAccount,
  wrap: (signature: Hex) => Hex = own,
): Promise<PaymentPayload> {
  return wrapPayment(await signPayment({ address, privateKey }, offerOf(devnet)), { wrap })
}

const verify = ({ facilitator }: Core, payment: PaymentPayload) =>
  facilitator.verify(payment, offerOf(devnet), termsOf(devnet))
const invalid = (invalidReason: string) =>
  expect.objectContaining({ isValid: false, invalidReason })
const codeAt = (address: Hex) => askNode<Hex>(devnet, 'eth_getCode', address, 'latest')
const sentAs = (transaction: string) =>
  askNode<{ to: Hex; input: Hex }>(devnet, 'eth_getTransactionByHash', transaction)

describe('an account that is not deployed', () => {
  it('pays in one transaction, and again by ERC-1271, with the official client', async () => {
    const shop = await openShop(
      devnet,
      (app, { x402Protect }) =>
        app.get('/item', x402Protect('$0.01'), (_req, res) => void res.send('item')),
      {
        ...shopOptions(devnet),
        networks: {
          'base-sepolia': {
            rpcUrl: devnet.rpcUrl,
            relayerKeys: devnet.relayerKeys,
            allowedFactories: [devnet.accountFactory],
          },
        },
      },
    )
    toEnd.push(() => shop.close())
    const { address, owner, wrap } = await counterfactualAccount(devnet)
    const key = privateKeyToAccount(owner.privateKey)
    let isWrapped = true
    const signer = {
      address,
      async signTypedData(message: Parameters<typeof key.signTypedData>[0]) {
        const signature = await key.signTypedData(message)
        return isWrapped ? wrap(signature) : signature
      },
    }
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(signer))
    const buy = wrapFetchWithPayment(fetch, client)
    const before = await merchantBalance()
    for (isWrapped of [true, true, false]) {
      const response = await buy(`${shop.url}/item`)
      expect([response.status, await response.text()]).toEqual([200, 'item'])
    }
    expect(await merchantBalance()).toBe(before + 30_000n)
    const [first, ...later] = shop.events.settled!
    expect((await sentAs(first!.transaction)).to.toLowerCase()).toBe(MULTICALL3.toLowerCase())
    for (const { transaction } of later)
      expect((await sentAs(transaction)).to.toLowerCase()).toBe(devnet.asset.toLowerCase())
  })

  it('is refused where its factory is not allowed, and no request names that', async () => {
    const { core, proxy } = await openProxied({ allowedFactories: [`0x${'ab'.repeat(20)}`] })
    let seen = ''
    proxy.fault = (_method, params) => void (seen += JSON.stringify(params).toLowerCase())
    const account = await counterfactualAccount(devnet)
    const payment = await payAs(account)
    expect(await verify(core, payment)).toEqual(invalid('eip6492_factory_not_allowed'))
    expect(await settle(core, payment)).toMatchObject({
      success: false,
      errorReason: 'eip6492_factory_not_allowed',
    })
    expect(seen).toContain(account.address.slice(2).toLowerCase())
    expect(seen).not.toContain(account.factory.slice(2))
    expect(seen).not.toContain(account.factoryData.slice(2))
  })

  it('may not call the token, Multicall3, Permit2 or a relayer, whatever is allowed', async () => {
    const [relayer] = open().relayers.addresses
    const never = [devnet.asset, MULTICALL3, PERMIT2, relayer] as const
    const { core, proxy } = await openProxied({ allowedFactories: never })
    let seen = ''
    proxy.fault = (_method, params) => void (seen += JSON.stringify(params))
    const data = '0xdeadbeef'
    for (const address of never) {
      const account = await counterfactualAccount(devnet)
      const wrap = (signature: Hex) => serializeErc6492Signature({ address, data, signature })
      const payment = await payAs(account, wrap)
      expect(await verify(core, payment)).toEqual(invalid('eip6492_factory_not_allowed'))
    }
    expect(seen).not.toContain('deadbeef')
  })

  it.each([
    ['deploys another account', elsewhereFactoryCode, 'smart_wallet_deployment_failed'],
    ['deploys an account that refuses', refusingFactoryCode, 'invalid_exact_evm_payload_signature'],
  ] as const)('is refused where its factory %s', async (_name, code, reason) => {
    const factory = await deploy(devnet, code)
    const account = await counterfactualAccount(devnet, factory)
    const core = open({ allowedFactories: [factory] })
    expect(await verify(core, await payAs(account))).toEqual(invalid(reason))
    expect(await codeAt(account.address)).toBe('0x')
  })

  it.each([
    ['burns all gas', endlessCode],
    ['reverts', '0x60006000fd'],
    ['does nothing', '0x00'],
    ['has no code', '0x'],
  ] as const)('is refused where its factory %s', async (_name, code) => {
    const factory = await deploy(devnet, code)
    const account = await counterfactualAccount(devnet)
    const { factoryData: data } = account
    const wrap = (signature: Hex) =>
      serializeErc6492Signature({ address: factory, data, signature })
    const core = open({ allowedFactories: [factory] })
    const payment = await payAs(account, wrap)
    expect(await verify(core, payment)).toEqual(invalid('smart_wallet_deployment_failed'))
  })

  it('is refused where its deployment costs more than we pay', async () => {
    for (const [rounds, answer] of [
      [5000, expect.objectContaining({ isValid: true })],
      [50_000, invalid('settlement_too_expensive')],
    ] as const) {
      // Burns, then asks the real factory.
      const burn = concatHex(['0x63', numberToHex(rounds, { size: 4 }), '0x5b600190038060055750'])
      const forward = concatHex(['0x3660006000376000600036600060', '0x0073', devnet.accountFactory])
      const factory = await deploy(devnet, concatHex([burn, forward, '0x5af100']))
      const account = await counterfactualAccount(devnet)
      const wrap = (signature: Hex) =>
        serializeErc6492Signature({ address: factory, data: account.factoryData, signature })
      const core = open({ allowedFactories: [factory] })
      expect(await verify(core, await payAs(account, wrap))).toEqual(answer)
    }
  })

  it('is not deployed to pay by Permit2, and pays so afterwards, wrapped or not', async () => {
    const { core, proxy } = await openProxied()
    let seen = ''
    proxy.fault = (_method, params) => void (seen += JSON.stringify(params))
    const account = await counterfactualAccount(devnet)
    const { address, owner, wrap, factoryData } = account
    const key = privateKeyToAccount(owner.privateKey)
    const offer = permit2.offer()
    const payBy = async (form: (signature: Hex) => Hex): Promise<PaymentPayload> => {
      const signer = {
        address,
        signTypedData: async (message: Parameters<typeof key.signTypedData>[0]) =>
          form(await key.signTypedData(message)),
      }
      const made = await new ExactEvmScheme(signer).createPaymentPayload(2, offer as never)
      return { ...(made as unknown as PaymentPayload), accepted: { ...offer } }
    }
    const verifyBy = async (form: (signature: Hex) => Hex) =>
      core.facilitator.verify(await payBy(form), offer, permit2.terms())
    expect(await verifyBy(wrap)).toEqual(invalid('eip6492_factory_not_allowed'))
    expect(seen).not.toContain(factoryData.slice(2))
    await deployAccount(devnet, account)
    const approval = { abi: usdcAbi, functionName: 'approve' } as const
    const allow = encodeFunctionData({ ...approval, args: [devnet.permit2, 2n ** 256n - 1n] })
    const execute = { abi: smartAccountAbi, functionName: 'execute' } as const
    const data = encodeFunctionData({ ...execute, args: [devnet.asset, 0n, allow] })
    await permit2.sendFrom(owner.address, address, data)
    for (const form of [wrap, (signature: Hex) => signature]) {
      const { facilitator } = core
      const answer = await facilitator.settle(await payBy(form), offer, permit2.terms())
      expect(answer).toMatchObject({ success: true, payer: address })
    }
    expect(seen).not.toContain(factoryData.slice(2))
  })

  it.each([
    ['a wrapper in a wrapper', (own: (one: Hex) => Hex) => (one: Hex) => own(own(one))],
    ['a wrapper that is cut short', (own) => (one) => `0x${own(one).slice(66)}`],
  ] as [string, (own: (one: Hex) => Hex) => (one: Hex) => Hex][])(
    'is refused with %s, without a request',
    async (_name, spoil) => {
      const { core, proxy } = await openProxied()
      const account = await counterfactualAccount(devnet)
      const payment = await payAs(account, spoil(account.wrap))
      const asked = proxy.methods.length
      expect(await verify(core, payment)).toEqual(invalid('invalid_exact_evm_payload_signature'))
      expect(proxy.methods).toHaveLength(asked)
    },
  )

  it("is refused for a stranger's signature, and for more than it has", async () => {
    const core = open()
    const account = await counterfactualAccount(devnet)
    const forged = await payAs({ ...account, owner: devnet.payers[1]! })
    expect(await verify(core, forged)).toEqual(invalid('invalid_exact_evm_payload_signature'))
    const { address, owner, wrap } = account
    const offer = offerOf(devnet, { amount: '1000001' })
    const payment = await signPayment({ address, privateKey: owner.privateKey }, offer)
    const dear = wrapPayment(payment, { wrap })
    expect(await core.facilitator.verify(dear, offer, termsOf(devnet))).toEqual(
      invalid('insufficient_funds'),
    )
  })

  it('is refused where accounts with code are', async () => {
    const core = open({ acceptContractPayers: false })
    const payment = await payAs(await counterfactualAccount(devnet))
    expect(await verify(core, payment)).toEqual(invalid('contract_payer_not_accepted'))
  })

  it('pays alone beside others, and they share a transaction', async () => {
    const core = open()
    const [before, account] = [await merchantBalance(), await counterfactualAccount(devnet)]
    await settle(core, await sign(3))
    await stopMining(devnet)
    const payments = [await sign(0), await payAs(account), await sign(1), await sign(2)]
    const reserved = await Promise.all(payments.map((payment) => reserve(core, payment)))
    const settling = reserved.map((one) => one.settle())
    const mining = setInterval(() => void devnet.mine().catch(() => undefined), 200)
    const answers = await Promise.all(settling).finally(() => clearInterval(mining))
    expect(answers.map(({ success }) => success)).toEqual([true, true, true, true])
    const own = answers[1]!.transaction
    expect(answers.filter(({ transaction }) => transaction === own)).toHaveLength(1)
    expect(await merchantBalance()).toBe(before + 50_000n)
  })

  it('is paid by its transfer alone if somebody has deployed it since', async () => {
    const core = open()
    const account = await counterfactualAccount(devnet)
    const reserved = await reserve(core, await payAs(account))
    await deployAccount(devnet, account)
    await new Promise((resolve) => setTimeout(resolve, 600))
    const { success, transaction } = await reserved.settle()
    expect(success).toBe(true)
    expect((await sentAs(transaction)).to.toLowerCase()).toBe(devnet.asset.toLowerCase())
  })

  it('is known again while its transaction is pending', async () => {
    const ledger = createMemoryLedger()
    const core = open({ ledger, settleTimeoutMs: 2000 })
    const account = await counterfactualAccount(devnet)
    const payment = await payAs(account)
    await stopMining(devnet)
    const pending = { success: false, errorReason: 'settlement_pending' }
    expect(await settle(core, payment)).toMatchObject(pending)
    expect(await settle(core, payment)).toMatchObject(pending)
    const forged = await payAs({ ...account, owner: devnet.payers[1]! })
    const { signature } = forged.payload as { signature: Hex }
    const stolen = { ...payment, payload: { ...payment.payload, signature } }
    expect(await verify(core, stolen)).toEqual(invalid('invalid_exact_evm_payload_signature'))
    await resumeMining(devnet)
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it.each([
    ['as it was', false],
    ['with another account nonce', true],
  ])('is deployed again with its transfer, %s, after a reorganisation', async (_name, isBarred) => {
    const ledger = createMemoryLedger()
    const first = open({ ledger, reconcileIntervalMs: 60_000 })
    const before = await merchantBalance()
    const account = await counterfactualAccount(devnet)
    const answer = await settle(first, await payAs(account))
    expect(answer).toMatchObject({ success: true })
    first.close()
    await undo(devnet, answer.transaction as Hex)
    if (isBarred) await sendAs(devnet, first.relayer.address, '0x')
    expect(await codeAt(account.address)).toBe('0x')
    expect(await merchantBalance()).toBe(before)
    open({ ledger, reconcileIntervalMs: 100 })
    await until(async () => (await merchantBalance()) === before + 10_000n)
    expect(await codeAt(account.address)).not.toBe('0x')
  })

  it('is sent again after a reorganisation by its transfer alone if it is deployed', async () => {
    const ledger = createMemoryLedger()
    const first = open({ ledger, reconcileIntervalMs: 60_000 })
    const before = await merchantBalance()
    const account = await counterfactualAccount(devnet)
    const payment = await payAs(account)
    const answer = await settle(first, payment)
    first.close()
    await undo(devnet, answer.transaction as Hex)
    await sendAs(devnet, first.relayer.address, '0x')
    await deployAccount(devnet, account)
    const next = open({ ledger, reconcileIntervalMs: 100, allowedFactories: [] })
    await until(async () => (await merchantBalance()) === before + 10_000n)
    const { from, nonce } = signedAuthorization(payment)
    const key = { chainId: 84532, contract: devnet.asset, from, nonce }
    await until(async () => {
      const record = await next.ledger.payments.find(key)
      return record?.state === 'settled' && record.transaction !== answer.transaction
    })
    const record = await next.ledger.payments.find(key)
    const { to } = await sentAs((record as { transaction: Hex }).transaction)
    expect(to.toLowerCase()).toBe(devnet.asset.toLowerCase())
  })

  it('pays nothing where its factory changes its mind, and all accounts of that have one budget', async () => {
    const { core, proxy } = await openProxied()
    const code = await codeAt(devnet.accountFactory)
    const setFactory = (now: Hex) => askNode(devnet, 'anvil_setCode', devnet.accountFactory, now)
    toEnd.push(() => setFactory(code))
    proxy.fault = async (method) => void (isSend(method) && (await setFactory(endlessCode)))
    const before = await merchantBalance()
    const reasons = []
    for (let times = 0; times < 8; times++) {
      await setFactory(code)
      const answer = await settle(core, await payAs(await counterfactualAccount(devnet)))
      reasons.push(answer.success ? 'paid' : answer.errorReason)
    }
    await setFactory(code)
    expect(await merchantBalance()).toBe(before)
    expect(reasons[0]).toBe('invalid_transaction_state')
    expect(reasons.at(-1)).toBe('payer_temporarily_refused')
    // Others are paid as before.
    expect(await settle(core, await sign())).toMatchObject({ success: true })
  })
})

it('counts what waits to be mined to the budget of a factory', async () => {
  const core = open({ settleTimeoutMs: 2000 })
  const accounts = []
  for (let n = 0; n < 8; n++) accounts.push(await counterfactualAccount(devnet))
  await stopMining(devnet)
  const answers = await Promise.all(
    accounts.map(async (account) => settle(core, await payAs(account))),
  )
  const reasons = answers.map((answer) => (answer.success ? 'paid' : answer.errorReason))
  expect(new Set(reasons)).toEqual(new Set(['settlement_pending', 'payer_temporarily_refused']))
})

describe('an account with a key that has delegated (EIP-7702)', () => {
  it('pays by its key where its delegate agrees, wrapped or not', async () => {
    const core = open({ allowedFactories: [] })
    const payer = await newPayer(devnet)
    await delegate(devnet, payer, await deploy(devnet, ownKeyDelegateCode))
    expect(await settle(core, await sign(payer))).toMatchObject({ success: true })
    const account = {
      ...(await counterfactualAccount(devnet)),
      address: payer.address,
      owner: payer,
    }
    expect(await settle(core, await payAs(account))).toMatchObject({ success: true })
  })

  it.each([
    ['refuses', walletCode(zeroHash)],
    ['burns all gas', endlessCode],
  ] as const)('is told that its delegate %s', async (_name, code) => {
    const core = open()
    const payer = await newPayer(devnet)
    await delegate(devnet, payer, await deploy(devnet, code))
    expect(await verify(core, await sign(payer))).toEqual(
      invalid('invalid_exact_evm_payload_signature'),
    )
  })
})
