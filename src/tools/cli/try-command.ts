import { once } from 'node:events'
import { createServer } from 'node:http'
import express, { type Express } from 'express'
import { createGateway, type Gateway } from '../../index.js'
import { createToken } from '../../shared/crypto/identify-token.js'
import { closeServer } from '../../shared/http/close-server.js'
import { listenLocally } from '../../shared/http/listen-locally.js'
import { formatDecimal, trimDecimal } from '../../shared/money/decimal.js'
import { startDevnet, type Devnet } from '../devnet/index.js'
import { Cleanup } from '../testing/cleanup.js'
import { balanceOf } from '../testing/token.js'
import { EXIT, type CliContext, type Command, type ExitCode } from './command.js'
import { readFlags } from './flags.js'
import { payCommand } from './pay-command.js'
import { openOfficialBuyer } from './try/official-buyer.js'
import { answerPlayWallet, offerPlayWallet } from './try/play-wallet.js'

const USAGE = `Usage: express-x402-gateway try [--once]

  Starts a local chain and a small shop, buys from the shop, and prints what happens. Then it stays up with
  links: the payment page with a play-money wallet, the console and the API. It needs @foundry-rs/anvil, and
  buys with the official client if this folder has @x402/fetch and @x402/evm, otherwise like the command pay.

  --once   ends after the purchase`

const PORT = 4021

export const tryCommand: Command = {
  name: 'try',
  summary: 'Shows a purchase on a local chain, and stays up with a shop to try.',
  usage: USAGE,
  async run(args, context) {
    const flags = readFlags(args, { names: [], switches: ['once'] })
    const cleanup = new Cleanup()
    try {
      return await show(context, cleanup, flags['once'] !== undefined)
    } finally {
      await cleanup.run()
    }
  },
}

async function show(context: CliContext, cleanup: Cleanup, isOnce: boolean): Promise<ExitCode> {
  const { print, signal } = context
  const devnet = await startDevnet()
  cleanup.add(() => devnet.close())
  const server = createServer()
  cleanup.add(() => closeServer(server))
  const url = await listenLocally(server, PORT).catch(({ code }: NodeJS.ErrnoException) => {
    print(`Port ${PORT} cannot be used (${code}): the shop takes another one.`)
    return listenLocally(server)
  })
  const { merchant, relayerKeys, rpcUrl } = devnet
  const token = createToken()
  const gateway = createGateway({
    publicUrl: url,
    networks: { 'base-sepolia': { rpcUrl, relayerKeys } },
    projects: [{ id: 'shop', merchant: { name: 'The weather shop', payTo: merchant.address } }],
    admin: { tokens: [token] },
  })
  cleanup.add(() => gateway.close())
  server.on('request', weatherShop(gateway, devnet))

  print(`Chain  ${rpcUrl} (anvil, with play money)`)
  print(`Shop   ${url} sells /weather for $0.01`)
  const buy = await openOfficialBuyer(context)
  print(`Buyer  ${buy ? 'the official client, @x402/fetch' : OWN_BUYER}`)
  const page = `${url}/weather`
  const told = { ...context, complain: print }
  const code = buy ? await buy(page) : await payCommand.run([page, '--devnet'], told)
  const units = await balanceOf(devnet, merchant.address)
  print(`The seller now has ${formatDecimal(trimDecimal({ units, scale: 6 }))} USDC.`)
  if (isOnce || code !== EXIT.ok) return code
  gateway.on('settled', ({ payer, transaction }) => print(`Sold to ${payer}: ${transaction}`))
  print(invitation(url, token))
  if (!signal.aborted) await once(signal, 'abort')
  return EXIT.ok
}

function weatherShop({ x402Protect, gatewayRouter, discovery }: Gateway, devnet: Devnet): Express {
  const app = express()
  const paid = x402Protect('$0.01', { description: 'The weather in Berlin' })
  app.get('/weather', offerPlayWallet, paid, (_req, res) => {
    res.json({ city: 'Berlin', forecast: 'sunny' })
  })
  app.post('/wallet', express.json(), answerPlayWallet(devnet))
  return app.use(discovery(), gatewayRouter())
}

const OWN_BUYER = 'the command pay; to use the official client: npm install @x402/fetch @x402/evm'

const invitation = (url: string, token: string): string => `
Your turn:
  Browser    ${url}/weather       the page has a wallet with play money
  Terminal   npx express-x402-gateway pay ${url}/weather --devnet
  Console    ${url}/console/      token: ${token}
  API        ${url}/api/v2/docs
Ctrl-C ends everything.`
