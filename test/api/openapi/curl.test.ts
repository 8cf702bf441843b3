/** The commands of the OpenAPI document, run by a shell against a real gateway. */
import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { useDevnet, SHOP_TOKEN, shopOptions } from '../../support/devnet.js'
import { wholeDocument } from '../../support/openapi-validator.js'
import { run } from '../../support/packed.js'
import { useOpened } from '../../support/use-opened.js'
import { serveGateway } from '../api.js'

const ADMIN_TOKEN = 'x402_test-token-of-the-owner'

interface Operation {
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[]
  readonly responses: object
}

const devnet = useDevnet()
const api = useOpened(() =>
  serveGateway(
    {
      ...shopOptions(devnet),
      ledger: createMemoryLedger(),
      admin: { tokens: [ADMIN_TOKEN] },
      publicUrl: 'https://pay.example.com',
    },
    { prefix: '/pay' },
  ),
)

const { paths } = await wholeDocument()
const commands = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...(operation as Operation),
  })),
)

/** A value for each placeholder of a path. */
const PARAMETERS = Object.fromEntries(
  Object.keys(paths).flatMap((path) =>
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'unknown']),
  ),
)

/** Runs a command. @returns The status of the answer */
async function statusOf(command: string): Promise<string> {
  const env = {
    ...process.env,
    GATEWAY: `${api.url}/pay`,
    PROJECT_TOKEN: SHOP_TOKEN,
    ADMIN_TOKEN,
    ...PARAMETERS,
    project: 'shop',
  }
  const flags = String.raw`-s -o /dev/null -w '%{http_code}'`
  const { stdout } = await run('sh', ['-c', `${command} ${flags}`], { env })
  return stdout
}

describe('the curl of each endpoint', () => {
  it('is there, once', () => {
    expect(commands.length).toBeGreaterThan(60)
    for (const { 'x-codeSamples': samples } of commands)
      expect(samples).toEqual([{ lang: 'sh', label: 'curl', source: expect.any(String) }])
  })

  // Probes are not below the router, and sessions are those of browsers.
  const runnable = commands.filter(({ name }) => !/\/(?:livez|readyz|console\/)/.test(name))

  it.each(runnable)('is answered as the document says: $name', async (operation) => {
    const status = await statusOf(operation['x-codeSamples'][0]!.source)
    expect(Object.keys(operation.responses)).toContain(status)
    expect(['401', '403', '405']).not.toContain(status)
  })
})
