import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../support/until.js'
import { nativeRecovery } from '../../src/shared/crypto/native-secp256k1.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { install, npm, pack, readManifest, ROOT, run } from '../support/packed.js'
import { startProgram, type Program } from '../support/program.js'
import { paymentRequiredOf, settlementOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const CONSUMER = fileURLToPath(new URL('consumer', import.meta.url))

const devnet = useDevnet()

let tarball: string
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  tarball = await pack(folder)
})

describe.each([
  { version: 4, payers: [0, 1] },
  { version: 5, payers: [2, 3] },
])('the packed package in a project on Express $version', ({ version, payers }) => {
  let project: string
  beforeAll(async () => {
    project = join(folder, `express-${version}`)
    await cp(CONSUMER, project, { recursive: true })
    const types = [`@types/express@${version}`, '@types/node@20']
    await install(project, [tarball, `express@${version}`, ...types])
  })

  it('uses the Express of the project', async () => {
    const { version: installed } = await readManifest(join(project, 'node_modules/express'))
    expect(installed).toMatch(new RegExp(`^${version}\\.`))
    const all = await npm(['ls', 'express', '--all', '--parseable'], project)
    expect(all.trim().split('\n')).toHaveLength(1)
  })

  describe.each([
    { file: 'shop.cjs', payer: () => devnet.payers[payers[0]!]! },
    { file: 'shop.mjs', payer: () => devnet.payers[payers[1]!]! },
  ])('loaded by $file', ({ file, payer }) => {
    let shop: Program
    let url: string
    beforeAll(async () => {
      shop = startProgram([file], {
        cwd: project,
        env: {
          X402_PAY_TO: devnet.merchant.address,
          X402_NETWORK: 'base-sepolia',
          X402_RPC_URL: devnet.rpcUrl,
          X402_RELAYER_KEY: devnet.relayerKeys[0],
          X402_PROJECT_TOKEN: SHOP_TOKEN,
        },
      })
      url = await shop.prints(/^(http\S+)\n/m)
    })
    afterAll(async () => {
      await shop.end('SIGKILL')
    })

    const sign = async () => {
      const offer = paymentRequiredOf(await fetch(`${url}/paid`)).accepts[0]!
      return signPayment(payer(), offer)
    }
    const pay = (path: string, payment: object, init?: RequestInit) =>
      fetch(url + path, { ...init, headers: paymentHeader(payment) })
    const balance = () => balanceOf(devnet, payer().address)

    it('asks for the price and sells', async () => {
      expect((await fetch(`${url}/paid`)).status).toBe(402)
      const before = await balance()
      const response = await pay('/paid', await sign())
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ paidBy: payer().address })
      expect(settlementOf(response).success).toBe(true)
      expect(before - (await balance())).toBe(10_000n)
    })

    it('does not charge for a handler that throws', async () => {
      const before = await balance()
      const payment = await sign()
      const failed = await pay('/throws', payment)
      expect(failed.status).toBe(500)
      expect(await failed.text()).toBe('failed')
      expect(failed.headers.get('payment-response')).toBeNull()
      expect(await balance()).toBe(before)
      expect((await pay('/paid', payment)).status).toBe(200)
    })

    it('does not charge for a handler that rejects', async () => {
      const before = await balance()
      const payment = await sign()
      // Express 4 leaves such a request unanswered: its client gives up.
      const patienceMs = version === 4 ? 2000 : 45_000
      const status = await pay('/rejects', payment, {
        signal: AbortSignal.timeout(patienceMs),
      }).then(
        (response) => response.status,
        () => 'unanswered',
      )
      expect(status).toBe(version === 4 ? 'unanswered' : 500)
      expect(await balance()).toBe(before)
      // The server learns a little later that its client has gone.
      await until(async () => (await pay('/paid', payment)).status === 200)
      expect(before - (await balance())).toBe(10_000n)
    })

    it('serves the API of the gateway', async () => {
      const response = await fetch(`${url}/api/v2/payment/supported`, {
        headers: { 'X-Project-Identify-Token': SHOP_TOKEN },
      })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        kinds: [{ scheme: 'exact', network: 'eip155:84532' }, { scheme: 'upto' }],
      })
      expect((await fetch(`${url}/api/v2/payment/supported`)).status).toBe(401)
    })

    it('serves the specification of its UCP handler', async () => {
      const response = await fetch(`${url}/ucp/gateway.md`)
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).toMatch(/^# x402 Payment Handler\n/)
      expect(text).not.toContain('{{')
    })

    it('checks signatures natively', async () => {
      expect((await pay('/throws', await sign())).status).toBe(500)
      const isNative = await (await fetch(`${url}/native`)).json()
      expect(isNative).toBe(nativeRecovery() !== undefined)
    })
  })

  it('has a command line that creates tokens', async () => {
    const lines = await npm(['exec', '--offline', '--', 'express-x402-gateway', 'token'], project)
    const [token, hash] = lines.trim().split('\n')
    expect(token).toMatch(/^\S{20,}$/)
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  it('has types of every sub-path for ES modules and for CommonJS, without optional packages', async () => {
    const { exports } = await readManifest(ROOT)
    for (const file of ['types.mts', 'types.cts'])
      for (const subPath of Object.keys(exports).filter((name) => name !== './package.json'))
        expect(await readFile(join(CONSUMER, file), 'utf8')).toContain(
          `'express-x402-gateway${subPath.slice('.'.length)}'`,
        )
    for (const name of ['pg', 'ioredis', '@foundry-rs'])
      expect(await readdir(join(project, 'node_modules'))).not.toContain(name)
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022']
    const types = ['--types', 'node', '--skipLibCheck', 'false']
    const compiled = run(process.execPath, [tsc, ...flags, ...types, 'types.mts', 'types.cts'], {
      cwd: project,
    }).then(
      () => '',
      (error: Error & { stdout: string }) => error.stdout || error.message,
    )
    expect(await compiled).toBe('')
  })

  it('has declarations that need no optional package', async () => {
    const { peerDependenciesMeta } = JSON.parse(
      await readFile(join(ROOT, 'package.json'), 'utf8'),
    ) as { peerDependenciesMeta: Record<string, { optional: boolean }> }
    const dist = join(project, 'node_modules/express-x402-gateway/dist')
    const declarations = (await readdir(dist, { recursive: true })).filter((name) =>
      name.endsWith('.d.ts'),
    )
    expect(declarations).toContain('esm/sql.d.ts')
    const optional = Object.keys(peerDependenciesMeta).filter((name) => !name.startsWith('@types/'))
    for (const name of declarations) {
      // Examples in comments begin with an asterisk.
      const imports = (await readFile(join(dist, name), 'utf8')).matchAll(
        /^(?:im|ex)port .*from '(.+)'/gm,
      )
      for (const [, from] of imports) expect(optional).not.toContain(from)
    }
  })
})
