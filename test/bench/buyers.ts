import { encodeFunctionData, erc20Abi, maxUint256 } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { encodeMintEach, sendMint, waitUntilMined } from '../../src/tools/devnet/mint.js'
import { type RpcCall, sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { methodOf } from '../../src/shared/protocol/same-offer.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { signPermit } from '../support/sign-permit.js'

/** Seconds for which a payment is good: longer than any benchmark takes. */
const VALID_SECONDS = 24 * 60 * 60

/** Accounts that one mint transaction has gas for. */
const MINT_AT_ONCE = 16

const ONE_MILLION_USDC = 10n ** 12n

/** Payments that are signed already, by buyer. */
export type SignedPayments = readonly (readonly PaymentPayload[])[]

/** Makes accounts of their own for so many buyers. */
export function createBuyers(count: number): readonly TestPayer[] {
  return Array.from({ length: count }, () => {
    const privateKey = generatePrivateKey()
    return { privateKey, address: privateKeyToAddress(privateKey) }
  })
}

/** Gives every buyer more than he will spend. */
export async function fund(devnet: Devnet, buyers: readonly TestPayer[]): Promise<void> {
  for (let start = 0; start < buyers.length; start += MINT_AT_ONCE) {
    const addresses = buyers.slice(start, start + MINT_AT_ONCE).map(({ address }) => address)
    const mint = { rpcUrl: devnet.rpcUrl, to: devnet.asset }
    const hash = await sendMint(mint, encodeMintEach(addresses, ONE_MILLION_USDC))
    await devnet.mine()
    await waitUntilMined(devnet.rpcUrl, hash)
  }
}

/** Signs so many payments for each buyer, before any clock runs. */
export async function signAll(
  buyers: readonly TestPayer[],
  each: number,
  requirements: PaymentRequirements,
): Promise<SignedPayments> {
  const validBefore = String(Math.floor(Date.now() / 1000) + VALID_SECONDS)
  const sign = (buyer: TestPayer): Promise<PaymentPayload> =>
    methodOf(requirements) === 'permit2'
      ? signPermit(buyer, requirements, { deadline: validBefore })
      : signPayment(buyer, requirements, { validBefore })
  return Promise.all(
    buyers.map((buyer) => Promise.all(Array.from({ length: each }, () => sign(buyer)))),
  )
}

/** Has every buyer let Permit2 take his tokens. */
export async function approve(devnet: Devnet, buyers: readonly TestPayer[]): Promise<void> {
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [devnet.permit2, maxUint256],
  })
  // The members of a batch run at once.
  const callEach = (toCall: (buyer: Hex) => RpcCall) =>
    sendBatch(
      devnet.rpcUrl,
      buyers.map(({ address }) => toCall(address)),
    )
  await callEach((buyer) => ['anvil_setBalance', buyer, '0xde0b6b3a7640000'])
  await callEach((buyer) => ['anvil_impersonateAccount', buyer])
  const gas = '0x186a0'
  await callEach((from) => ['eth_sendTransaction', { from, to: devnet.asset, data, gas }])
  await devnet.mine()
}
