/** Programs of pages in example-app/docs, each started as its page says, with a buyer who is the official client. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { createSIWxClientHook, wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { runCli } from '../../src/tools/cli/cli.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { page, ROOT } from '../docs/documents.js'
import { install, run } from '../support/packed.js'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { freePort } from '../support/free-port.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { startProgram, type Program } from '../support/program.js'
import { mppFetch, receiptOf } from '../support/mpp.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { permit2Of } from '../tools/devnet/permit2.js'

const devnet = useDevnet()
const toEnd = useCleanup(afterAll)
const project = temporaryFolder(toEnd)

beforeAll(async () => {
  await mkdir(join(project, 'node_modules'))
  await symlink(ROOT, join(project, 'node_modules/express-x402-gateway'))
  await mkdir(join(project, 'node_modules/@modelcontextprotocol'))
  for (const name of ['express', 'standardwebhooks', 'zod', '@modelcontextprotocol/sdk'])
    await symlink(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
})

interface Started extends Program {
  readonly url: string
}

interface Start {
  readonly relayer: number
  readonly env?: Readonly<Record<string, string>>
  /** @defaultValue a free one */
  readonly port?: number
}

/** The variables of a shop on the devnet. */
const variables = (relayerKey: string | undefined) => ({
  X402_NETWORK: 'base-sepolia',
  X402_RPC_URL: devnet.rpcUrl,
  X402_RELAYER_KEY: relayerKey,
  X402_PAY_TO: devnet.merchant.address,
})

/** The variables of a shop with a relayer of its own. */
async function ownVariables() {
  const key = newNonce()
  const ether = `0x${(10n ** 18n).toString(16)}`
  await sendBatch(devnet.rpcUrl, [['anvil_setBalance', privateKeyToAddress(key), ether]])
  return variables(key)
}

/** Starts a program of a page; relayers are not shared, because these ledgers are in memory. */
async function start(file: string, { relayer, env = {}, port: given }: Start): Promise<Started> {
  const port = String(given ?? (await freePort()))
  const name = file.replace('.mjs', '.md')
  const code = page(name).blocks.find(({ meta }) => meta === `file=${file}`)?.code ?? ''
  await writeFile(join(project, file), code.replaceAll('4021', port))
  const program = startProgram([file], {
    cwd: project,
    env: { ...variables(devnet.relayerKeys[relayer]), ...env },
  })
  toEnd.push(() => program.end('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await until(() => fetch(url).then(Boolean, () => false))
  return { ...program, url }
}

/** Buys with the official client. @returns The response, its text, and what the merchant earned. */
async function buy(url: string, payer: number, init?: RequestInit) {
  const account = privateKeyToAccount(devnet.payers[payer]!.privateKey)
  const client = new x402Client()
    .register('eip155:*', new ExactEvmScheme(account))
    .register('eip155:*', new UptoEvmScheme(account))
  const before = await balanceOf(devnet, devnet.merchant.address)
  const response = await wrapFetchWithPayment(fetch, client)(url, init)
  const text = await response.text()
  const earned = (await balanceOf(devnet, devnet.merchant.address)) - before
  return { status: response.status, response, text, earned }
}

const json = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

describe('llm.md', () => {
  it('charges for tokens, and streams what is paid first', async () => {
    await permit2Of(devnet).approve(devnet.payers[0]!.address)
    const { url } = await start('llm.mjs', { relayer: 0 })

    const prompt = 'It rains today'
    const completion = await buy(`${url}/complete`, 0, json({ prompt }))
    expect(JSON.parse(completion.text)).toEqual({ text: 'It rains today ' })
    expect(completion.earned).toBe(60n)

    const stream = await buy(`${url}/stream`, 0, json({ prompt, maxTokens: 2 }))
    expect(stream.response.headers.get('content-type')).toContain('text/event-stream')
    expect(stream.text).toBe('data: "It "\n\ndata: "rains "\n\ndata: [DONE]\n\n')
    expect(stream.earned).toBe(40n)
  })

  it('refuses more tokens than the model may use before anybody pays', async () => {
    const { url } = await start('llm.mjs', { relayer: 0 })
    const most = json({ prompt: 'It rains', maxTokens: 501 })
    expect((await fetch(`${url}/complete`, most)).status).toBe(400)
    expect((await fetch(`${url}/stream`, most)).status).toBe(400)
  })
})

describe('mcp.md', () => {
  it('sells its tools at a fixed price, and for what was used', async () => {
    await permit2Of(devnet).approve(devnet.payers[0]!.address)
    const { url } = await start('mcp.mjs', { relayer: 0 })
    const call = async (name: string, args: object, payment?: object) => {
      const _meta = payment && { 'x402/payment': payment }
      const params = { name, arguments: args, _meta }
      const request = json({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const headers = { ...request.headers, Accept: 'application/json, text/event-stream' }
      const text = await (await fetch(`${url}/mcp`, { ...request, headers })).text()
      return (JSON.parse(text.split('data: ')[1]!) as { result: Answer }).result
    }
    const buyTool = async (name: string, args: object) => {
      const client = new x402Client()
        .register('eip155:*', new ExactEvmScheme(privateKeyToAccount(devnet.payers[0]!.privateKey)))
        .register('eip155:*', new UptoEvmScheme(privateKeyToAccount(devnet.payers[0]!.privateKey)))
      const before = await balanceOf(devnet, devnet.merchant.address)
      const { structuredContent } = await call(name, args)
      const payment = await client.createPaymentPayload(structuredContent as never)
      const { content } = await call(name, args, payment)
      const earned = (await balanceOf(devnet, devnet.merchant.address)) - before
      return { text: content[0]?.text, earned }
    }
    expect(await buyTool('forecast', { city: 'Bern' })).toEqual({
      text: `Sunny in Bern, paid by ${devnet.payers[0]!.address}`,
      earned: 10_000n,
    })
    expect(await buyTool('translate', { text: 'rain' })).toEqual({ text: 'RAIN', earned: 40n })
  })
})

interface Answer {
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent?: object
}

describe('free-quota.md', () => {
  it('gives each known key its free requests, at once or not, and then sells', async () => {
    const { url } = await start('free-quota.mjs', { relayer: 1 })
    const ask = async (key: string) =>
      (await fetch(`${url}/weather`, { headers: { 'X-API-Key': key } })).status
    const statuses = await Promise.all(Array.from({ length: 101 }, () => ask('key-of-alice')))
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.filter((status) => status === 402)).toHaveLength(1)
    expect([await ask('key-of-bob'), await ask('key-of-nobody')]).toEqual([200, 402])

    const paid = await buy(`${url}/weather`, 1, { headers: { 'X-API-Key': 'key-of-alice' } })
    expect(JSON.parse(paid.text)).toEqual({
      forecast: 'sunny',
      paidBy: devnet.payers[1]!.address,
    })
    expect(paid.earned).toBe(10_000n)
  })
})

describe('mpp.md', () => {
  it('sells by MPP, and by x402', async () => {
    const { url } = await start('mpp.mjs', { relayer: 1 })
    const { address, privateKey } = devnet.payers[4]!
    const response = await mppFetch(privateKey)(`${url}/weather`)
    expect(await response.json()).toEqual({ forecast: 'sunny', paidBy: address })
    expect(receiptOf(response)).toMatchObject({ status: 'success' })
    expect((await buy(`${url}/weather`, 4)).earned).toBe(10_000n)
  })
})

describe('sign-in.md', () => {
  it('sells a day, sells to members for less, and knows who signs in', async () => {
    const account = privateKeyToAccount(devnet.payers[2]!.privateKey)
    const { url } = await start('sign-in.mjs', { relayer: 2, env: { MEMBERS: account.address } })
    const reader = account.address
    expect((await buy(`${url}/news`, 2)).earned).toBe(1_000_000n)
    const signedIn = wrapFetchWithSIWx(fetch, account)
    const again = await signedIn(`${url}/news`)
    expect([again.status, await again.json()]).toEqual([200, { news: 'It rains.', reader }])
    const offered = await signedIn(`${url}/report`)
    expect(paymentRequiredOf(offered).accepts[0]!.amount).toBe('10000')
    expect((await buy(`${url}/report`, 3)).earned).toBe(100_000n)

    const http = new x402HTTPClient(new x402Client())
    http.onPaymentRequired(createSIWxClientHook(account))
    const known = await wrapFetchWithPayment(fetch, http)(`${url}/account`)
    expect(await known.json()).toMatchObject({ address: reader, isContract: false })
  })
})

/** Runs a command of ours until its end, or until `end` is called. */
function cli(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const printed: string[] = []
  const ending = new AbortController()
  const keep = (line: string): void => void printed.push(line)
  const exit = runCli(args, {
    ...{ env, cwd: project, signal: ending.signal, print: keep, complain: keep },
    write: async () => undefined,
  })
  return { printed, exit, end: () => (ending.abort(), exit) }
}

describe('webhooks.md', () => {
  const { code } = page('webhooks.md').blocks.find((block) => block.code.includes(' trigger '))!
  const chosen = /whsec_\S+/.exec(code)![0]
  const shop = useShop(
    devnet,
    (app, { x402Protect, gatewayRouter }) => {
      app.get('/report', x402Protect('$0.01', { reference: 'order-7' }), (_req, res) => {
        res.send('sold')
      })
      app.use(gatewayRouter())
    },
    () => ({ webhooks: { allowPrivate: true } }),
  )
  const api = (path: string, body: object) =>
    fetch(`${shop.url}/api/v2/merchant/webhooks${path}`, {
      ...json(body),
      headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
    })
  const startWith = (secret: string) =>
    start('webhooks.mjs', { relayer: 2, env: { X402_WEBHOOK_SECRET: secret } })

  it('acts once for a genuine delivery, and refuses others', async () => {
    const { url, output, prints } = await startWith(chosen)
    const trigger = (secret: string) =>
      cli(['trigger', 'payment.settled', '--to', `${url}/hooks`, '--secret', secret]).exit
    expect(await trigger(chosen)).toBe(0)
    await prints(/(Paid: order-7, \d+ units of USDC)/)
    expect(await trigger(`whsec_${'A'.repeat(32)}`)).toBe(1)
    await prints(/(Refused: No matching signature found)/)

    const signed = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': `${Math.floor(Date.now() / 1000)}`,
    }
    const body =
      '{"type":"payment.settled","data":{"resource":"twice","amount":"1","symbol":"USDC"}}'
    const signature = new Webhook(chosen).sign('msg_1', new Date(), body)
    const headers = {
      ...signed,
      'webhook-signature': signature,
      'content-type': 'application/json',
    }
    for (const _ of [1, 2])
      expect((await fetch(`${url}/hooks`, { method: 'POST', headers, body })).status).toBe(204)
    expect(output().match(/Paid: twice/g)).toHaveLength(1)
  })

  it('hears of a purchase, registered by the API', async () => {
    const { url: receiver, end } = await startWith(chosen)
    const events = ['payment.settled', 'payment.corrected']
    const created = await api('', { url: `${receiver}/hooks`, events })
    expect(created.status).toBe(201)
    const { id, secret } = (await created.json()) as { id: string; secret: string }
    await end('SIGKILL')

    const { url, prints } = await startWith(secret)
    const moved = { url: `${url}/hooks` }
    const headers = { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN }
    const path = `${shop.url}/api/v2/merchant/webhooks/${id}`
    await fetch(path, { method: 'PATCH', headers, body: JSON.stringify(moved) })
    expect((await api(`/${id}/test`, {})).ok).toBe(true)
    await prints(/(webhook\.test)/)
    await buy(`${shop.url}/report`, 2)
    await prints(/(Paid: order-7, 10000 units of USDC)/)
  })

  it('hears of a purchase by `listen`, which prints the secret to start with', async () => {
    const port = await freePort()
    const to = `http://127.0.0.1:${port}/hooks`
    const flags = ['--gateway', shop.url, '--forward-to', to]
    const listening = cli(['listen', ...flags], { X402_PROJECT_TOKEN: SHOP_TOKEN })
    await until(() => listening.printed.length > 0)
    const secret = /whsec_\S+/.exec(listening.printed[0]!)![0]
    const { prints } = await start('webhooks.mjs', {
      ...{ relayer: 2, port },
      env: { X402_WEBHOOK_SECRET: secret },
    })
    await buy(`${shop.url}/report`, 2)
    await prints(/(Paid: order-7)/)
    expect(await listening.end()).toBe(0)
  })
})

/** A project of its own, with packages that this one does not have. */
async function projectWith(packages: readonly string[]): Promise<string> {
  const folder = temporaryFolder(toEnd)
  await install(folder, packages)
  await symlink(ROOT, join(folder, 'node_modules/express-x402-gateway'))
  return folder
}

describe('nestjs.md', () => {
  const nest = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@11`)
  const options = ['--module', 'nodenext', '--target', 'es2023', '--skipLibCheck']
  const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata']
  const started = { url: '', program: undefined as Program | undefined }

  beforeAll(async () => {
    const folder = await projectWith([...nest, 'reflect-metadata', 'rxjs', 'express@5'])
    await symlink(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'))
    const port = String(await freePort())
    const { code } = page('nestjs.md').blocks.find(({ meta }) => meta === 'file=main.ts')!
    await writeFile(join(folder, 'main.ts'), code.replaceAll('4021', port))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const args = [compiler, ...options, ...decorators, 'main.ts']
    await run(process.execPath, args, { cwd: folder })
    started.program = startProgram(['main.js'], { cwd: folder, env: await ownVariables() })
    toEnd.push(() => started.program?.end('SIGKILL'))
    await started.program.prints(/(successfully started)/)
    started.url = `http://127.0.0.1:${port}`
  })

  it('sells the routes of a controller, one of them by its body', async () => {
    const weather = await buy(`${started.url}/weather/paris`, 3)
    expect(JSON.parse(weather.text)).toEqual({ city: 'paris', forecast: 'sunny' })
    expect(weather.earned).toBe(10_000n)
    const long = 'hello '.repeat(200)
    const translated = await buy(`${started.url}/translate`, 3, json({ text: long }))
    expect(JSON.parse(translated.text)).toEqual({ translated: long.toUpperCase() })
    expect(translated.earned).toBe(20_000n)
  })

  it('charges nothing for what is not found below a path, and lists its routes', async () => {
    const missing = await buy(`${started.url}/weather/paris/tomorrow`, 3)
    expect([missing.status, missing.earned]).toEqual([404, 0n])
    const { paths } = (await (await fetch(`${started.url}/openapi.json`)).json()) as {
      paths: object
    }
    expect(Object.keys(paths)).toEqual(['/weather/{city}', '/translate'])
  })

  it('ends when it is told to', async () => {
    await started.program!.end('SIGTERM')
    await expect(fetch(started.url)).rejects.toThrow('fetch failed')
  })
})

const postgres = await findPostgres()
const withPostgres = postgres === undefined ? describe.skip : describe

withPostgres('lambda.md', () => {
  const instances: { url: string; program: Program; name: string }[] = []
  const schema = { execute: (_sql: string): Promise<unknown> => Promise.resolve() }

  beforeAll(async () => {
    const created = await createSchema(postgres!)
    toEnd.push(() => created.drop())
    schema.execute = (sql) => created.execute(sql)
    const folder = await projectWith(['serverless-http@4', 'express@5'])
    const { code } = page('lambda.md').blocks.find(({ meta }) => meta === 'file=lambda.mjs')!
    await writeFile(join(folder, 'lambda.mjs'), code)
    const env = await ownVariables()
    for (const name of ['first', 'second']) {
      const database = `${created.url}&application_name=${created.name}_${name}`
      const program = startProgram([join(ROOT, 'test/e2e/lambda/host.mjs')], {
        cwd: folder,
        env: { ...env, X402_DATABASE_URL: database },
      })
      toEnd.push(() => program.end('SIGKILL'))
      const port = await program.prints(/Listens at (\d+)/)
      instances.push({
        program,
        url: `http://127.0.0.1:${port}/weather`,
        name: `${created.name}_${name}`,
      })
    }
  })

  it('sells from each instance', async () => {
    for (const { url } of instances) {
      const sold = await buy(url, 4)
      expect([sold.status, sold.text, sold.earned]).toEqual([200, '{"forecast":"sunny"}', 10_000n])
    }
  })

  it('names its public address in offers', async () => {
    const { resource } = (await (await fetch(instances[0]!.url)).json()) as {
      resource: { url: string }
    }
    expect(resource.url).toBe('https://abcdefgh.lambda-url.eu-central-1.on.aws/weather')
  })

  it('sells after it was frozen, and its connections to the database were cut', async () => {
    const [frozen, other] = instances
    void frozen!.program.end('SIGSTOP')
    const cut = await schema.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${frozen!.name}'`,
    )
    expect(cut).not.toEqual([])
    expect((await buy(other!.url, 4)).earned).toBe(10_000n)
    void frozen!.program.end('SIGCONT')
    expect((await buy(frozen!.url, 4)).earned).toBe(10_000n)
  })
})
