import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { startProgram, type Program } from '../support/program.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import type { FilesShopOptions } from './files-shop.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const MAX_HELD_BYTES = 1024 * 1024
const NOTHING_LEFT = '{"sources":0,"waiting":0}'
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  await writeFile(join(folder, 'film.bin'), 'SECRET '.repeat(2_000_000))
})

/** Asks as a client does that announces a body and never sends it. Resolves when that is over. */
async function attack(url: string, path: string, payment: object): Promise<string> {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const [[name, value] = []] = Object.entries(paymentHeader(payment))
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${name}: ${value}\r\nContent-Length: 5\r\n\r\n`,
  )
  let received = ''
  socket.setEncoding('latin1').on('data', (data: string) => {
    received += data
    // What is written after the response would come soon.
    socket.setTimeout(3000)
  })
  socket.on('error', () => undefined)
  socket.setTimeout(45_000, () => socket.destroy())
  await once(socket, 'close')
  return received
}

describe.each(['express', 'express4'] as const)('an answer beyond maxHeldBytes (%s)', (express) => {
  let program: Program
  let url: string
  beforeAll(async () => {
    const options: FilesShopOptions = {
      express,
      gateway: shopOptions(devnet),
      maxHeldBytes: MAX_HELD_BYTES,
      file: join(folder, 'film.bin'),
    }
    const script = fileURLToPath(new URL('files-shop.ts', import.meta.url))
    program = startProgram(['--import', './test/support/typescript.mjs', script], {
      env: { FILES_SHOP: JSON.stringify(options), NODE_OPTIONS: undefined, NODE_ENV: 'production' },
    })
    url = `http://127.0.0.1:${await program.prints(/port=(\d+)/)}`
  })
  afterAll(() => program.end('SIGKILL'))
  const state = async (): Promise<string> => (await fetch(`${url}/state`)).text()
  /** Waits until all sources are closed, which files are a moment later, and all timers stopped. */
  const leavesNothing = (): Promise<void> => until(async () => (await state()) === NOTHING_LEFT)

  const handlers = [
    ...['pipe', 'pipeline', 'send-file', 'download', 'write-loop', 'endless'],
    ...['awaited-writes', 'events', 'late', 'early-hints'],
  ]
  const paths = ['plain', 'slow', 'careless'].flatMap((errors) =>
    handlers.map((handler) => `/${errors}/${handler}`),
  )

  it.each(paths)('gives nothing away, costs nothing and leaves no record: %s', async (path) => {
    const before = await earned()
    const [accepted] = paymentRequiredOf(await fetch(url + path)).accepts
    const payment = await signPayment(devnet.payers[0]!, accepted!)
    const received = await attack(url, path, payment)

    expect(received).not.toContain('SECRET')
    expect(received.length).toBeLessThan(2000)
    expect(received).toMatch(/^HTTP\/1\.1 500 /)
    expect(received).toContain('"code":"answer_too_large"')
    expect(received).not.toContain('maxHeldBytes')
    expect(await earned()).toBe(before)
    await leavesNothing()
    // The payment is unused: it is good for another try.
    expect(await attack(url, path, payment)).toMatch(/^HTTP\/1\.1 500 /)
    expect(await earned()).toBe(before)
    await leavesNothing()
  })

  it('never ends the process or writes into a finished response', async () => {
    expect(await state()).toBe(NOTHING_LEFT)
    expect(program.output()).not.toContain('ERR_HTTP_HEADERS_SENT')
    expect(program.output()).not.toContain('write after end')
    // The error handlers of the app were told.
    expect(program.output()).toContain('ConfigError: maxHeldBytes')
  })
})
