/**
 * `npm run example`: a local chain, the shop, and a program that buys from it. Then it stays up;
 * `npm run example -- --once` ends after the purchase.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway } from 'express-x402-gateway'
import { startDevnet } from 'express-x402-gateway/devnet'
import { privateKeyToAccount } from 'viem/accounts'
import { createApp } from './app.js'
import { payingFetch, signPaymentFor } from './buy.js'
import { accountsOf, gatewayOptions, TOKENS } from './gateway.js'
import { invitation } from './invite.js'
import { formatUsdc, narrate, readBalance } from './narrate.js'

const DEFAULT_PORT = 4021
const MEMBER_KEY = 'example-member-key'

const print = (line: string): void => console.log(line)
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())

const devnet = await startDevnet()
const server = createServer()
const port = Number(process.env['PORT'] ?? DEFAULT_PORT)
const listen = (on: number) => once(server.listen(on, '127.0.0.1'), 'listening')
await listen(port).catch(() => {
  print(`Port ${port} is taken; another one will do.`)
  return listen(0)
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const accounts = accountsOf(devnet)
const gateway = createGateway(gatewayOptions(devnet, url))
const merchant = privateKeyToAccount(accounts.merchant.privateKey)
const app = createApp(gateway, {
  memberKeys: new Set([MEMBER_KEY]),
  refunder: { url, token: TOKENS.shop, merchant },
  wallet: accounts.visitor,
})
app.use(gateway.metricsRouter())
server.on('request', app)

try {
  print(`Chain  ${devnet.rpcUrl} (anvil as Base Sepolia, with USDC)`)
  print(`Shop   ${url}\n`)
  await buy()
  if (!process.argv.includes('--once')) {
    const signature = await signPaymentFor(`${url}/weather`, accounts.tryer.privateKey)
    const { rpcUrl } = devnet
    const { privateKey } = accounts.visitor
    print(invitation({ url, rpcUrl, privateKey, signature, memberKey: MEMBER_KEY }))
    if (!ending.signal.aborted) await once(ending.signal, 'abort')
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  server.close()
  server.closeAllConnections()
  await gateway.close()
  await devnet.close()
}

/** Buys the weather, and shows that the money has moved. */
async function buy(): Promise<void> {
  const payer = accounts.buyer
  const balanceOf = async (account: `0x${string}`): Promise<string> =>
    formatUsdc(await readBalance(devnet, account))
  const balances = () => Promise.all([balanceOf(payer.address), balanceOf(merchant.address)])

  const before = await balances()
  const response = await payingFetch(payer.privateKey, narrate(print))(`${url}/weather`)
  const after = await balances()

  print(`    body        ${await response.text()}`)
  print('$ Balances')
  print(`    payer       ${before[0]} → ${after[0]}`)
  print(`    merchant    ${before[1]} → ${after[1]}`)
  if (!response.ok) throw new Error(`The purchase failed with ${response.status}.`)
}
