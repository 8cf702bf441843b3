import { ExactEvmScheme, toClientEvmSigner } from '@x402/evm'
import { encodeFunctionData, parseAbi, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Asset } from '../../src/shared/money/assets.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import type { MerchantTerms } from '../../src/core/schemes/scheme.js'
import { plainTokenAbi, permit2Abi } from '../tools/devnet/abis.js'
import { publicClient } from '../tools/devnet/clients.js'
import {
  permit2Of,
  settlementOf,
  type Permit2Payload,
  type SponsoredApproval,
} from '../tools/devnet/permit2.js'
import { offerOf, termsOf, usdc } from './core.js'
import { newNonce, type TestPayer } from './sign-payment.js'

/** Its client advertises the sponsored approval, as a 402 does. */
const SPONSORED = {
  eip2612GasSponsoring: { info: { description: '', version: '1' }, schema: {} },
}

const permitAbi = parseAbi([
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
])

/** What a test's payer signs. */
export interface Permit2Options {
  readonly token?: Hex
  readonly amount?: string
  readonly extra?: Readonly<Record<string, unknown>>
  /** Whether the offer has `eip2612GasSponsoring`. */
  readonly isSponsored?: boolean
}

/** Pays by Permit2 on a devnet, by the unmodified official client. */
export function permit2On(devnet: Devnet) {
  const { approve, isUsed, balanceOf, sendFrom, send, settleExact } = permit2Of(devnet)

  const offer = ({ token = devnet.asset, amount = '10000', extra }: Permit2Options = {}) =>
    offerOf(devnet, {
      amount,
      asset: token,
      extra: { ...(extra ?? { name: 'USDC', version: '2' }), assetTransferMethod: 'permit2' },
    })

  const asset = (address: Hex, name: string): Asset => ({
    ...usdc,
    address,
    symbol: name.toUpperCase(),
    eip712: { name, version: '1' },
  })
  const assets = (): readonly Asset[] => [
    asset(devnet.permitToken, 'Permit Token'),
    asset(devnet.plainToken, 'Plain Token'),
  ]

  const sign = async (
    payer: TestPayer,
    accepted: PaymentRequirements,
    { isSponsored = false }: Permit2Options = {},
  ): Promise<PaymentPayload> => {
    const client = publicClient(devnet.rpcUrl)
    const signer = toClientEvmSigner(privateKeyToAccount(payer.privateKey), client)
    const scheme = new ExactEvmScheme(signer, { rpcUrl: devnet.rpcUrl })
    const made = await scheme.createPaymentPayload(
      2,
      accepted as never,
      isSponsored ? { extensions: SPONSORED } : {},
    )
    return { ...(made as unknown as PaymentPayload), accepted: { ...accepted } }
  }

  /** An account with ten of a token, and no gas money. */
  const newPayer = async (token: Hex = devnet.asset): Promise<TestPayer> => {
    const privateKey = newNonce()
    const { address } = privateKeyToAccount(privateKey)
    await devnet.mint(address, 10_000_000n, token)
    return { address, privateKey }
  }

  return {
    ...{ approve, isUsed, balanceOf, sendFrom, offer, sign, assets, asset },
    terms: (): MerchantTerms => ({ ...termsOf(devnet), accepts: [usdc, ...assets()] }),
    newPayer,
    /** The same, and Permit2 may take all of its USDC. */
    async approvedPayer(): Promise<TestPayer> {
      const payer = await newPayer()
      await approve(payer.address)
      return payer
    },
    /** Has the payer burn the nonce of a payment. */
    invalidate: (payer: TestPayer, payment: PaymentPayload) => {
      const nonce = nonceOf(payment)
      const args = [nonce >> 8n, 1n << (nonce & 255n)] as const
      const functionName = 'invalidateUnorderedNonces'
      const data = encodeFunctionData({ abi: permit2Abi, functionName, args })
      return sendFrom(payer.address, devnet.permit2, data)
    },
    /** Has anybody bring a payer's signed approval (EIP-2612) to the token. */
    usePermit: (payer: TestPayer, token: Hex, approval: SponsoredApproval) => {
      const { r, s, yParity } = parseSignature(approval.signature)
      const { amount, deadline } = approval
      const args = [
        ...[payer.address, devnet.permit2, BigInt(amount), BigInt(deadline)],
        ...[27 + yParity, r, s],
      ]
      const functionName = 'permit'
      return send({ address: token, abi: permitAbi, functionName, args }, 1)
    },
    /** Has a stranger settle a payment. */
    settleAsStranger: (payment: PaymentPayload) =>
      settleExact(settlementOf(payment.payload as unknown as Permit2Payload), undefined, 1),
    /** Has the payer move tokens away. */
    moveAway: (payer: TestPayer, amount: bigint, token: Hex = devnet.asset) => {
      const args = ['0x000000000000000000000000000000000000dEaD', amount] as const
      const data = encodeFunctionData({ abi: plainTokenAbi, functionName: 'transfer', args })
      return sendFrom(payer.address, token, data)
    },
  }
}

/** The nonce that a payment by Permit2 uses up. */
export function nonceOf({ payload }: PaymentPayload): bigint {
  return BigInt((payload['permit2Authorization'] as { nonce: string }).nonce)
}

/** The sponsored approval of a payment. */
export function approvalOf({ extensions }: PaymentPayload): SponsoredApproval {
  return (extensions!['eip2612GasSponsoring'] as { info: SponsoredApproval }).info
}
