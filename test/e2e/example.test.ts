import { afterEach, describe, expect, it } from '@jest/globals'
import { fileURLToPath } from 'node:url'
import { listen } from '../support/http.js'
import { startProgram, type Program } from '../support/program.js'

/** What `npm run example` runs once everything is built. */
const MAIN = fileURLToPath(new URL('../../dist/example/main.js', import.meta.url))

let running: Program | undefined
afterEach(async () => {
  await running?.end('SIGKILL')
})

/** Starts the example on a free port, or on the one given. */
function startExample(args: readonly string[], port = 0): Program {
  running = startProgram([MAIN, ...args], { env: { PORT: String(port) } })
  return running
}

/** Tells whether anything answers there. */
async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

describe('npm run example', () => {
  it('ends after one purchase with --once, and ends its chain', async () => {
    const example = startExample(['--once'])
    const chain = await example.prints(/^Chain +(http\S+)/m)
    expect(await example.exitCode()).toBe(0)
    const output = example.output()
    expect(output).toMatch(/← 402 Payment Required/)
    expect(output).toMatch(/price +0\.01 USDC \(10000 units\) on eip155:84532/)
    expect(output).toMatch(/nonce +0x[0-9a-f]{64}/)
    expect(output).toMatch(/← 200 OK/)
    expect(output).toMatch(/transaction 0x[0-9a-f]{64}/)
    expect(output).toMatch(/payer +1000000\.00 USDC → 999999\.99 USDC/)
    expect(output).toMatch(/merchant +0\.00 USDC → 0\.01 USDC/)
    expect(await answers(chain)).toBe(false)
  })

  it('stays up for more purchases until Ctrl-C, and ends its chain', async () => {
    const example = startExample([])
    const chain = await example.prints(/^Chain +(http\S+)/m)
    const shop = await example.prints(/^Shop +(http\S+)/m)
    await example.prints(/(Ctrl-C ends everything)/)
    expect((await fetch(`${shop}/weather`)).status).toBe(402)
    expect(await answers(chain)).toBe(true)
    expect(await example.end('SIGINT')).toBe(0)
    expect(await answers(shop)).toBe(false)
    expect(await answers(chain)).toBe(false)
  })

  it('prints a signed payment to try by hand, which is good once', async () => {
    const example = startExample([])
    const shop = await example.prints(/^Shop +(http\S+)/m)
    const signature = await example.prints(/PAYMENT-SIGNATURE: ([^']+)'\n/)
    const pay = () => fetch(`${shop}/weather`, { headers: { 'PAYMENT-SIGNATURE': signature } })
    expect((await pay()).status).toBe(200)
    expect((await pay()).status).toBe(402)
    expect(await example.end('SIGINT')).toBe(0)
  })

  it('uses a free port if its own is in use', async () => {
    const taken = await listen((_req, res) => void res.end())
    try {
      const example = startExample(['--once'], taken.port)
      expect(await example.exitCode()).toBe(0)
      expect(example.output()).toContain(`Port ${taken.port} is taken`)
    } finally {
      await taken.close()
    }
  })
})
