import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { serializeErc6492Signature } from 'viem/utils'
import type { Asset } from '../../../../../src/shared/money/assets.js'
import { lowerHex } from '../../../../../src/shared/protocol/hex.js'
import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../../../src/shared/protocol/payment.js'
import {
  burningWalletCode,
  deploy,
  endlessCode,
  fakeTokenCode,
  walletCode,
} from '../../../../support/contracts.js'
import {
  askNode,
  chainTime,
  openCore,
  offerOf,
  termsOf,
  usdc,
  type Core,
} from '../../../../support/core.js'
import { decoded } from '../../../../support/decoded.js'
import { useDevnet } from '../../../../support/devnet.js'
import { newPayer, operate } from '../../../../support/on-chain.js'
import { rewrite } from '../../../../support/rewrite-signature.js'
import { startRpcProxy, type RpcProxy } from '../../../../support/rpc-proxy.js'
import { newNonce, signPayment, type SigningOverrides } from '../../../../support/sign-payment.js'
import { useOpened } from '../../../../support/use-opened.js'

const devnet = useDevnet()
const STRANGER: Hex = '0x1111111111111111111111111111111111111111'
const UINT256_MAX = (2n ** 256n - 1n).toString()

const core = useOpened(() => openCore(devnet))

/** Verifies what the first payer signs for an offer, changed as told. */
async function verify(
  signing: SigningOverrides = {},
  offer: PaymentRequirements = offerOf(devnet),
  { facilitator }: Pick<Core, 'facilitator'> = core,
) {
  const payment = await signPayment(devnet.payers[0]!, offer, signing)
  return facilitator.verify(payment, offer, termsOf(devnet))
}

/** Replaces members of a payment's authorization, or its signature, after it was signed. */
function tamper(payment: PaymentPayload, members: object, signature?: unknown): PaymentPayload {
  const { authorization } = payment.payload as { authorization: object }
  return {
    ...payment,
    payload: {
      ...payment.payload,
      authorization: { ...authorization, ...members },
      ...(signature !== undefined && { signature }),
    },
  }
}

const FACTORY: Hex = `0x${'fa'.repeat(20)}`

/** Wraps a signature with the call that would deploy its account (ERC-6492). */
const wrap = (signature: Hex): Hex =>
  serializeErc6492Signature({ address: FACTORY, data: '0xdeadbeef', signature })

const valid = () => ({ isValid: true, payer: devnet.payers[0]!.address })
const invalid = (invalidReason: string) =>
  expect.objectContaining({ isValid: false, invalidReason })

describe('verify', () => {
  it('accepts a payment that a wallet signed, and names the payer with its checksum', async () => {
    expect(await verify()).toEqual(valid())
  })

  describe('checking its shape', () => {
    it.each([
      ['hexadecimal', '0x2710'],
      ['with a space', ' 10000'],
      ['with a leading zero', '010000'],
      ['with a sign', '+10000'],
      ['with an exponent', '1e4'],
      ['a number', 10_000],
      ['not there', undefined],
      ['of 2^256', (2n ** 256n).toString()],
    ])('refuses an authorization whose value is %s', async (_name, value) => {
      const offer = offerOf(devnet)
      const payment = tamper(await signPayment(devnet.payers[0]!, offer), { value })
      const { facilitator } = core
      expect(await facilitator.verify(payment, offer)).toEqual(invalid('invalid_payload'))
      const accepted = { ...offer, amount: value }
      const offered = { ...(await signPayment(devnet.payers[0]!, offer)), accepted }
      expect(await facilitator.verify(offered, offer)).toEqual(invalid('invalid_payload'))
    })

    it('reads the value 2^256-1, which no payer has', async () => {
      const offer = offerOf(devnet, { amount: UINT256_MAX })
      expect(await verify({}, offer)).toEqual(invalid('insufficient_funds'))
    })

    it.each([
      ['a nonce of 31 bytes', { nonce: `0x${'11'.repeat(31)}` }, undefined],
      ['an address of 19 bytes', { from: `0x${'11'.repeat(19)}` }, undefined],
      ['a signature that is not hexadecimal', {}, '0xzz'],
      ['an empty signature', {}, '0x'],
      ['a signature of 5 KB', {}, `0x${'11'.repeat(5000)}`],
      ['no signature', {}, null],
    ])('refuses %s', async (_name, members, signature) => {
      const offer = offerOf(devnet)
      const payment = tamper(await signPayment(devnet.payers[0]!, offer), members, signature)
      expect(await core.facilitator.verify(payment, offer)).toEqual(invalid('invalid_payload'))
    })
  })

  describe('checking it against the offer', () => {
    it.each([1, 3])('refuses x402 version %d', async (x402Version) => {
      expect(await verify({ payload: { x402Version } })).toEqual(invalid('invalid_x402_version'))
    })

    it('refuses another scheme, on either side', async () => {
      const scheme = 'batch-settlement'
      expect(await verify({}, offerOf(devnet, { scheme }))).toEqual(invalid('unsupported_scheme'))
      const accepted = { ...offerOf(devnet, { scheme }) }
      expect(await verify({ payload: { accepted } })).toEqual(invalid('unsupported_scheme'))
    })

    it.each([
      ['that is no EVM network', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
      ['that nobody settles here', 'eip155:8453'],
    ])('refuses a network %s', async (_name, network) => {
      expect(await verify({}, offerOf(devnet, { network }))).toEqual(invalid('invalid_network'))
    })

    it('refuses a network that the merchant does not accept', async () => {
      const offer = offerOf(devnet)
      const elsewhere = { ...usdc, network: { ...usdc.network, caip2: 'eip155:8453' as const } }
      const terms = { ...termsOf(devnet), accepts: [elsewhere] }
      const payment = await signPayment(devnet.payers[0]!, offer)
      expect(await core.facilitator.verify(payment, offer, terms)).toEqual(
        invalid('invalid_network'),
      )
    })

    it('refuses an asset that nobody settles here, and one that the merchant does not accept', async () => {
      const asset = STRANGER
      expect(await verify({}, offerOf(devnet, { asset }))).toEqual(invalid('unsupported_asset'))
      const offer = offerOf(devnet)
      const terms = { ...termsOf(devnet), accepts: [{ ...usdc, address: STRANGER }] }
      const payment = await signPayment(devnet.payers[0]!, offer)
      expect(await core.facilitator.verify(payment, offer, terms)).toEqual(
        invalid('unsupported_asset'),
      )
    })

    it("refuses a payTo that is not the merchant's, and accepts any payTo without a merchant", async () => {
      const offer = offerOf(devnet, { payTo: STRANGER })
      expect(await verify({}, offer)).toEqual(invalid('pay_to_mismatch'))
      const payment = await signPayment(devnet.payers[0]!, offer)
      expect(await core.facilitator.verify(payment, offer)).toEqual(valid())
    })

    it.each<[string, Partial<PaymentRequirements>]>([
      ['network', { network: 'eip155:8453' }],
      ['asset', { asset: STRANGER }],
      ['payTo', { payTo: STRANGER }],
      ['amount', { amount: '9999' }],
    ])('refuses an accepted entry with another %s', async (_name, members) => {
      const accepted = { ...offerOf(devnet, members) }
      expect(await verify({ payload: { accepted } })).toEqual(
        invalid('invalid_payment_requirements'),
      )
    })

    it('compares entries by meaning, not by spelling', async () => {
      const offer = offerOf(devnet)
      const accepted = {
        ...offer,
        network: 'base-sepolia',
        asset: offer.asset.toLowerCase(),
        payTo: `0x${offer.payTo.slice(2).toUpperCase()}`,
        extra: null,
        somethingElse: true,
      }
      expect(await verify({ payload: { accepted } })).toEqual(valid())
      expect(await verify({}, offerOf(devnet, { network: 'base-sepolia' }))).toEqual(valid())
    })

    it('refuses an authorization that pays somebody else', async () => {
      expect(await verify({ to: STRANGER })).toEqual(
        invalid('invalid_exact_evm_payload_recipient_mismatch'),
      )
    })

    it.each(['9999', '10001', '0'])('refuses a value of %s if 10000 are asked', async (value) => {
      expect(await verify({ value })).toEqual(
        invalid('invalid_exact_evm_payload_authorization_value_mismatch'),
      )
    })
  })

  describe('checking its time window', () => {
    const at = async (seconds: number): Promise<Core> =>
      openCore(devnet, { now: () => seconds * 1000 + 999 })

    // The chain's clock goes by its blocks, however long a test takes.
    beforeAll(() => askNode(devnet, 'anvil_setBlockTimestampInterval', 1))
    afterAll(() => askNode(devnet, 'anvil_removeBlockTimestampInterval'))

    it('accepts an authorization that became valid a second ago, and refuses one that becomes valid now', async () => {
      const now = await chainTime(devnet)
      const clocked = await at(now)
      expect(await verify({ validAfter: String(now - 1) }, offerOf(devnet), clocked)).toEqual(
        valid(),
      )
      for (const later of [0, 1])
        expect(await verify({ validAfter: String(now + later) }, offerOf(devnet), clocked)).toEqual(
          invalid('invalid_exact_evm_payload_authorization_valid_after'),
        )
    })

    it.each([
      [300, 30],
      [40, 20],
      [10, 6],
    ])(
      'verifies what lives long enough for a handler: of %s seconds %s, and no less',
      async (maxTimeoutSeconds, least) => {
        const now = await chainTime(devnet)
        const clocked = await at(now)
        const offer = offerOf(devnet, { maxTimeoutSeconds })
        for (const left of [least, least + 1])
          expect(await verify({ validBefore: String(now + left) }, offer, clocked)).toEqual(valid())
        for (const left of [least - 1, 0, -100])
          expect(await verify({ validBefore: String(now + left) }, offer, clocked)).toEqual(
            invalid('invalid_exact_evm_payload_authorization_valid_before'),
          )
      },
    )

    it('settles an authorization that lapses in six seconds, and refuses one that lapses sooner', async () => {
      const now = await chainTime(devnet)
      const clocked = await at(now)
      const offer = offerOf(devnet)
      const settle = async (left: number) => {
        const overrides = { validBefore: String(now + left) }
        return clocked.facilitator.settle(
          await signPayment(devnet.payers[0]!, offer, overrides),
          offer,
        )
      }
      expect(await settle(5)).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_payload_authorization_valid_before',
      })
      expect(await settle(6)).toMatchObject({ success: true })
    })

    it("blames the chain's clock and not the payment if the two clocks differ", async () => {
      const now = await chainTime(devnet)
      const ahead = await at(now + 100)
      expect(await verify({ validAfter: String(now + 50) }, offerOf(devnet), ahead)).toEqual(
        invalid('invalid_exact_evm_payload_authorization_valid_after'),
      )
      const behind = await at(now - 100)
      expect(await verify({ validBefore: String(now - 50) }, offerOf(devnet), behind)).toEqual(
        invalid('invalid_exact_evm_payload_authorization_valid_before'),
      )
    })
  })

  describe('checking its signature', () => {
    it('accepts each form of one signature, as one authorization', async () => {
      const offer = offerOf(devnet)
      const payment = await signPayment(devnet.payers[0]!, offer)
      const { signature } = payment.payload as { signature: Hex }
      for (const form of Object.values(rewrite(signature)))
        expect(await core.facilitator.verify(tamper(payment, {}, form), offer)).toEqual(valid())
    })

    it.each<[string, SigningOverrides]>([
      ['another name', { domain: { name: 'USD Coin' } }],
      ['another version', { domain: { version: '1' } }],
      ['another chain', { domain: { chainId: 8453 } }],
    ])('refuses a signature for %s', async (_name, signing) => {
      expect(await verify(signing)).toEqual(invalid('invalid_exact_evm_payload_signature'))
    })

    it("uses the configured EIP-712 domain, not the offer's extra", async () => {
      const extra = { name: 'Else', version: '9' }
      expect(await verify({}, offerOf(devnet, { extra }))).toEqual(
        invalid('invalid_exact_evm_payload_signature'),
      )
      const domain = { name: 'USDC', version: '2' }
      expect(await verify({ domain }, offerOf(devnet, { extra }))).toEqual(valid())
    })

    it('refuses a signature by another account', async () => {
      const offer = offerOf(devnet)
      const [payer, thief] = devnet.payers
      const payment = tamper(await signPayment(thief!, offer), { from: payer!.address })
      expect(await core.facilitator.verify(payment, offer)).toEqual(
        invalid('invalid_exact_evm_payload_signature'),
      )
    })

    it.each(['value', 'validAfter', 'validBefore', 'nonce', 'to'])(
      'refuses an authorization whose %s was changed after signing',
      async (member) => {
        const changed: Record<string, PaymentRequirements & { authorization: object }> = {
          value: { ...offerOf(devnet, { amount: '1' }), authorization: { value: '1' } },
          to: { ...offerOf(devnet, { payTo: STRANGER }), authorization: { to: STRANGER } },
          validAfter: { ...offerOf(devnet), authorization: { validAfter: '7' } },
          validBefore: { ...offerOf(devnet), authorization: { validBefore: '99999999999' } },
          nonce: { ...offerOf(devnet), authorization: { nonce: newNonce() } },
        }
        const { authorization, ...offer } = changed[member]!
        const payment = tamper(await signPayment(devnet.payers[0]!, offerOf(devnet)), authorization)
        expect(await core.facilitator.verify({ ...payment, accepted: offer }, offer)).toEqual(
          invalid('invalid_exact_evm_payload_signature'),
        )
      },
    )

    it.each([`0x${'00'.repeat(65)}`, `0x${'11'.repeat(66)}`, '0x11'])(
      'refuses the signature %s',
      async (signature) => {
        const offer = offerOf(devnet)
        const payment = tamper(await signPayment(devnet.payers[0]!, offer), {}, signature)
        expect(await core.facilitator.verify(payment, offer)).toEqual(
          invalid('invalid_exact_evm_payload_signature'),
        )
      },
    )

    it('refuses an account that its factory would have to deploy first', async () => {
      const offer = offerOf(devnet)
      const signed = await signPayment(devnet.payers[0]!, offer)
      const { signature } = signed.payload as { signature: Hex }
      for (const inner of [signature, '0xab'] as const)
        expect(await core.facilitator.verify(tamper(signed, {}, wrap(inner)), offer)).toEqual(
          invalid('eip6492_factory_not_allowed'),
        )
    })
  })

  describe('of a contract account', () => {
    const APPROVED: Hex = `0x${'ab'.repeat(32)}`
    const offer = () => offerOf(devnet)

    async function verifyFrom(code: Hex, signature: Hex) {
      const wallet = await deploy(devnet, code)
      await devnet.mint(wallet, 1_000_000n)
      const from = wallet
      const payment = tamper(await signPayment(devnet.payers[0]!, offer()), { from }, signature)
      return { payment, wallet, answer: await core.facilitator.verify(payment, offer()) }
    }

    it('accepts a signature that the contract approves, and settles it', async () => {
      const { payment, answer } = await verifyFrom(walletCode(APPROVED), `${APPROVED}cd`)
      expect(answer).toMatchObject({ isValid: true })
      expect(await core.facilitator.settle(payment, offer())).toMatchObject({ success: true })
    })

    it('unwraps the ERC-6492 signature of a deployed account, and sends it alone', async () => {
      const proxy = await startRpcProxy(devnet.rpcUrl)
      let sent = ''
      proxy.fault = (_method, params) => void (sent += JSON.stringify(params))
      const { facilitator, ledger, close } = openCore(devnet, { rpcUrl: proxy.url })
      const { payment, wallet } = await verifyFrom(walletCode(APPROVED), wrap(`${APPROVED}cd`))
      expect(await facilitator.verify(payment, offer())).toMatchObject({ isValid: true })
      expect(await facilitator.settle(payment, offer())).toMatchObject({ success: true })
      const { authorization } = payment.payload as { authorization: { nonce: Hex } }
      const key = { chainId: 84_532, contract: usdc.address, from: lowerHex(wallet) }
      // Presented bare, it is the same authorization.
      const bare = tamper(payment, {}, `${APPROVED}cd`)
      expect(await facilitator.verify(bare, offer())).toEqual(
        invalid('invalid_exact_evm_nonce_already_used'),
      )
      expect(await ledger.payments.find({ ...key, nonce: authorization.nonce })).toBeDefined()
      expect(sent).toContain(APPROVED.slice(2))
      expect(sent).not.toContain(FACTORY.slice(2))
      expect(sent).not.toContain('6492'.repeat(16))
      close()
      await proxy.close()
    })

    it('refuses a wrapped (ERC-6492) signature that the contract does not approve', async () => {
      const { answer } = await verifyFrom(walletCode(APPROVED), wrap(`0x${'ac'.repeat(33)}`))
      expect(answer).toEqual(invalid('invalid_exact_evm_payload_signature'))
    })

    it.each([
      ['another wrapper', wrap(wrap(APPROVED))],
      ['a wrapper that is cut short', `0x${wrap(APPROVED).slice(2 + 64)}`],
    ] as const)('refuses %s (ERC-6492), without asking the chain', async (_name, signature) => {
      const proxy = await startRpcProxy(devnet.rpcUrl)
      const { facilitator, close } = openCore(devnet, { rpcUrl: proxy.url })
      const wallet = await deploy(devnet, burningWalletCode(1))
      await devnet.mint(wallet, 1_000_000n)
      const signed = await signPayment(devnet.payers[0]!, offer())
      const asked = proxy.methods.length
      expect(
        await facilitator.verify(tamper(signed, { from: wallet }, signature), offer()),
      ).toEqual(invalid('invalid_exact_evm_payload_signature'))
      expect(proxy.methods).toHaveLength(asked)
      close()
      await proxy.close()
    })

    it('accepts an approved signature that looks like an ECDSA signature', async () => {
      const signature = `0x${'ab'.repeat(64)}1b` as const
      const { answer } = await verifyFrom(walletCode(APPROVED), signature)
      expect(answer).toMatchObject({ isValid: true })
    })

    it('refuses a signature that the contract does not approve', async () => {
      const { answer } = await verifyFrom(walletCode(APPROVED), `0x${'ac'.repeat(33)}`)
      expect(answer).toEqual(invalid('invalid_exact_evm_payload_signature'))
    })

    it('refuses a contract that never returns, and does not blame the node', async () => {
      const { answer } = await verifyFrom(endlessCode, APPROVED)
      expect(answer).toEqual(invalid('invalid_exact_evm_payload_signature'))
    })

    it('asks the code of an account even if its key has signed (EIP-7702)', async () => {
      const signed = async (code: Hex) => {
        const payer = await newPayer(devnet)
        await askNode(devnet, 'anvil_setCode', payer.address, code)
        return signPayment(payer, offer())
      }
      const approved = await signed(burningWalletCode(1))
      expect(await core.facilitator.settle(approved, offer())).toMatchObject({ success: true })
      const disapproved = await signed(walletCode(APPROVED))
      expect(await core.facilitator.verify(disapproved, offer())).toEqual(
        invalid('invalid_exact_evm_payload_signature'),
      )
    })

    it('settles a contract that takes half a million gas, and refuses one that takes more than a million', async () => {
      const fair = await verifyFrom(burningWalletCode(18_000), APPROVED)
      expect(await core.facilitator.settle(fair.payment, offer())).toMatchObject({ success: true })
      const greedy = await verifyFrom(burningWalletCode(50_000), APPROVED)
      expect(greedy.answer).toEqual(invalid('settlement_too_expensive'))
      expect(await core.facilitator.settle(greedy.payment, offer())).toMatchObject({
        success: false,
        errorReason: 'settlement_too_expensive',
        transaction: '',
      })
    })
  })

  describe('checking it against the token', () => {
    it('refuses a payer who has too little, and accepts one who has just enough', async () => {
      const payer = privateKeyOf(newNonce())
      await devnet.mint(payer.address, 9_999n)
      const payment = await signPayment(payer, offerOf(devnet))
      const verifyAgain = () => core.facilitator.verify(payment, offerOf(devnet))
      expect(await verifyAgain()).toEqual(invalid('insufficient_funds'))
      await devnet.mint(payer.address, 1n)
      expect(await verifyAgain()).toEqual({ isValid: true, payer: payer.address })
    })

    it('refuses an authorization that was used elsewhere', async () => {
      const offer = offerOf(devnet)
      const payment = await signPayment(devnet.payers[0]!, offer)
      expect(await core.facilitator.settle(payment, offer)).toMatchObject({ success: true })
      const elsewhere = openCore(devnet)
      expect(await elsewhere.facilitator.verify(payment, offer)).toEqual(
        invalid('invalid_exact_evm_nonce_already_used'),
      )
    })

    const withAsset = async (members: Partial<Asset>) => {
      const address = members.address ?? usdc.address
      const assets = [{ ...usdc, ...members, address }]
      const other = openCore(devnet, { assets })
      const offer = offerOf(devnet, { asset: address, extra: { ...assets[0]!.eip712 } })
      const payment = await signPayment(devnet.payers[0]!, offer)
      return other.facilitator.verify(payment, offer)
    }

    it('refuses an asset without code, every call of which succeeds', async () => {
      expect(await withAsset({ address: STRANGER })).toEqual(
        invalid('invalid_exact_evm_eip3009_not_supported'),
      )
      expect(await withAsset({ address: await deploy(devnet, fakeTokenCode()) })).toEqual(valid())
    })

    it('refuses a contract that is no ERC-3009 token', async () => {
      const address = await deploy(devnet, '0x60006000fd')
      expect(await withAsset({ address })).toEqual(
        invalid('invalid_exact_evm_eip3009_not_supported'),
      )
    })

    it('refuses an asset configured with a domain that is not its own', async () => {
      expect(await withAsset({ eip712: { name: 'USDC', version: '3' } })).toEqual(
        invalid('invalid_payment_requirements'),
      )
    })

    it('refuses a transfer that the token refuses for a reason of its own', async () => {
      const offer = offerOf(devnet, { payTo: '0x0000000000000000000000000000000000000000' })
      const payment = await signPayment(devnet.payers[0]!, offer)
      expect(await core.facilitator.verify(payment, offer)).toEqual(
        invalid('invalid_exact_evm_transaction_simulation_failed'),
      )
    })

    it.each(['payer', 'merchant'])('refuses a %s whom the token has blacklisted', async (who) => {
      const payer = await newPayer(devnet)
      const offer = offerOf(devnet, { payTo: (await newPayer(devnet)).address })
      const account = who === 'payer' ? payer.address : (offer.payTo as Hex)
      const payment = await signPayment(payer, offer)
      await operate(devnet, 'blacklist', account)
      expect(await core.facilitator.verify(payment, offer)).toMatchObject({
        isValid: false,
        invalidReason: who === 'payer' ? 'payer_blacklisted' : 'pay_to_blacklisted',
      })
      await operate(devnet, 'unBlacklist', account)
      expect(await core.facilitator.verify(payment, offer)).toMatchObject({ isValid: true })
    })

    it('refuses everybody while the token is paused', async () => {
      await operate(devnet, 'pause')
      try {
        expect(await verify()).toEqual(invalid('token_paused'))
      } finally {
        await operate(devnet, 'unpause')
      }
      expect(await verify()).toEqual(valid())
    })

    it('finds the reason call by call on a chain without Multicall3', async () => {
      const code = await askNode(devnet, 'eth_getCode', devnet.multicall3, 'latest')
      await askNode(devnet, 'anvil_setCode', devnet.multicall3, '0x')
      try {
        const offer = offerOf(devnet, { amount: UINT256_MAX })
        expect(await verify({}, offer)).toEqual(invalid('insufficient_funds'))
      } finally {
        await askNode(devnet, 'anvil_setCode', devnet.multicall3, code)
      }
    })
  })

  describe('checking it against the ledger', () => {
    it('refuses a payment that another request has reserved, and accepts it once it is released', async () => {
      const offer = offerOf(devnet)
      const payment = await signPayment(devnet.payers[0]!, offer)
      const reserved = await core.facilitator.reserve(decoded(payment, offer))
      if (!('release' in reserved)) throw new Error('refused')
      expect(await core.facilitator.verify(payment, offer)).toEqual(invalid('duplicate_settlement'))
      await reserved.release()
      expect(await core.facilitator.verify(payment, offer)).toEqual(valid())
    })

    it('knows an authorization by its parsed values, however it is written', async () => {
      const offer = offerOf(devnet)
      const payment = await signPayment(devnet.payers[0]!, offer)
      const { signature, authorization } = payment.payload as {
        signature: Hex
        authorization: { from: Hex; nonce: Hex }
      }
      const upper = {
        from: `0x${authorization.from.slice(2).toUpperCase()}`,
        nonce: `0x${authorization.nonce.slice(2).toUpperCase()}`,
      }
      const keyOf = (one: PaymentPayload) => decoded(one, offer).key
      const rewritten = tamper(payment, upper, rewrite(signature).highS)
      expect(keyOf(rewritten)).toEqual(keyOf(payment))
      await core.facilitator.reserve(decoded(payment, offer))
      expect(await core.facilitator.verify(rewritten, offer)).toEqual(
        invalid('duplicate_settlement'),
      )
    })
  })

  describe('in order of cost', () => {
    let proxy: RpcProxy
    beforeAll(async () => {
      proxy = await startRpcProxy(devnet.rpcUrl)
    })
    afterAll(() => proxy.close())

    it('names the first fault of several', async () => {
      const past = '1'
      const worst: SigningOverrides = { to: STRANGER, value: '1', validBefore: past }
      const version = { x402Version: 1 }
      const wrongDomain = { domain: { chainId: 1 } }
      const terms = offerOf(devnet, { payTo: STRANGER })
      const faults: [SigningOverrides, PaymentRequirements, string][] = [
        [{ ...worst, payload: version }, offerOf(devnet, { scheme: 'x' }), 'invalid_x402_version'],
        [worst, terms, 'pay_to_mismatch'],
        [worst, offerOf(devnet), 'invalid_exact_evm_payload_recipient_mismatch'],
        [
          { value: '1', validBefore: past },
          offerOf(devnet),
          'invalid_exact_evm_payload_authorization_value_mismatch',
        ],
        [
          { validBefore: past, ...wrongDomain },
          offerOf(devnet),
          'invalid_exact_evm_payload_authorization_valid_before',
        ],
        [
          wrongDomain,
          offerOf(devnet, { amount: UINT256_MAX }),
          'invalid_exact_evm_payload_signature',
        ],
      ]
      for (const [signing, offer, reason] of faults)
        expect(await verify(signing, offer)).toEqual(invalid(reason))
    })

    it('does not ask the node about a payment that is wrong in itself', async () => {
      const proxied = openCore(devnet, { rpcUrl: proxy.url })
      await verify({ to: STRANGER }, offerOf(devnet), proxied)
      await verify({ value: '1' }, offerOf(devnet), proxied)
      await verify({ validBefore: '1' }, offerOf(devnet), proxied)
      expect(proxy.methods).toEqual([])
    })

    it('asks the node once about a payment, whoever signed it', async () => {
      const proxied = openCore(devnet, { rpcUrl: proxy.url })
      expect(await verify({}, offerOf(devnet), proxied)).toEqual(valid())
      proxy.methods.length = 0
      expect(await verify({}, offerOf(devnet), proxied)).toEqual(valid())
      expect(proxy.methods).toEqual(['eth_call'])
      proxy.methods.length = 0
      expect(await verify({ domain: { chainId: 1 } }, offerOf(devnet), proxied)).toEqual(
        invalid('invalid_exact_evm_payload_signature'),
      )
      expect(proxy.methods).toEqual(['eth_call'])
    })
  })
})

describe('supported', () => {
  it('names the concrete networks and the accounts that send transactions', async () => {
    expect(await core.facilitator.supported()).toEqual({
      kinds: [
        { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
        {
          ...{ x402Version: 2, scheme: 'upto', network: 'eip155:84532' },
          extra: { facilitatorAddress: core.relayer.address },
        },
      ],
      extensions: [],
      signers: { 'eip155:*': [core.relayer.address] },
    })
  })
})

function privateKeyOf(privateKey: Hex) {
  return { privateKey, address: privateKeyToAccount(privateKey).address }
}
