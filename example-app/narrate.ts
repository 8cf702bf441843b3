/** Tells what goes over the wire while a program pays. */
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
} from '@x402/core/http'
import type { Devnet } from 'express-x402-gateway/devnet'
import { createPublicClient, http, parseAbi } from 'viem'

/** Wraps a `fetch` so that each step of an x402 exchange is printed. */
export function narrate(print: (line: string) => void): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const signature = request.headers.get('PAYMENT-SIGNATURE')
    if (signature !== null) tellAuthorization(signature, print)
    print(`→ ${request.method} ${pathname}${search}${signature ? ' with PAYMENT-SIGNATURE' : ''}`)

    const response = await fetch(request)
    print(`← ${response.status} ${response.statusText}`)
    const required = response.headers.get('PAYMENT-REQUIRED')
    if (required !== null) tellPrice(required, print)
    const settlement = response.headers.get('PAYMENT-RESPONSE')
    if (settlement !== null) tellSettlement(settlement, print)
    return response
  }
}

function tellPrice(header: string, print: (line: string) => void): void {
  const { error, accepts } = decodePaymentRequiredHeader(header)
  if (error !== undefined) print(`    says        ${error}`)
  for (const { amount, network, asset, payTo } of accepts) {
    print(`    price       ${formatUsdc(BigInt(amount))} (${amount} units) on ${network}`)
    print(`    token       ${asset}`)
    print(`    pay to      ${payTo}`)
  }
}

function tellAuthorization(header: string, print: (line: string) => void): void {
  const { payload } = decodePaymentSignatureHeader(header)
  const { from, to, value, validAfter, validBefore, nonce } = payload['authorization'] as Record<
    'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce',
    string
  >
  print('✎ The payer signs. It sends no transaction and needs no ether.')
  print(`    from        ${from}`)
  print(`    to          ${to}`)
  print(`    value       ${formatUsdc(BigInt(value))} (${value} units)`)
  print(`    valid from  ${formatTime(validAfter)}`)
  print(`    until       ${formatTime(validBefore)}`)
  print(`    nonce       ${nonce}`)
}

function tellSettlement(header: string, print: (line: string) => void): void {
  const { success, transaction, network, errorReason } = decodePaymentResponseHeader(header)
  print(`    settled     ${success ? 'yes' : `no: ${errorReason}`}`)
  if (transaction !== '') print(`    transaction ${transaction} on ${network}`)
}

/** Reads how much of the token an account has. */
export function readBalance({ rpcUrl, asset }: Devnet, account: `0x${string}`): Promise<bigint> {
  return createPublicClient({ transport: http(rpcUrl) }).readContract({
    address: asset,
    abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
    functionName: 'balanceOf',
    args: [account],
  })
}

/** Writes token units as people write money. */
export function formatUsdc(units: bigint): string {
  const fraction = String(units % 1_000_000n).padStart(6, '0')
  return `${units / 1_000_000n}.${fraction.replace(/0{1,4}$/, '')} USDC`
}

/** Writes seconds since the epoch; `0` is what wallets sign that set no beginning. */
function formatTime(seconds: string): string {
  return seconds === '0' ? 'any time' : new Date(Number(seconds) * 1000).toISOString()
}
