import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { findAnvil } from '../../src/tools/devnet/find-anvil.js'

/** What the figures are to be read with: the machine, the versions, the day. */
export async function describeMachine(rounds: number): Promise<string> {
  const [cpu, ...others] = cpus()
  const { stdout } = await promisify(execFile)(findAnvil(), ['--version'])
  const anvil = /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? 'of unknown version'
  const require = createRequire(import.meta.url)
  const versions = await Promise.all(
    ['express', 'viem', 'autocannon', 'undici'].map(async (name) => {
      const text = await readFile(require.resolve(`${name}/package.json`), 'utf8')
      return `${name} ${(JSON.parse(text) as { version: string }).version}`
    }),
  )
  const own = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  const { dependencies } = JSON.parse(
    await readFile(new URL('package.json', import.meta.url), 'utf8'),
  ) as { dependencies: Readonly<Record<string, string>> }
  return `# Results of \`npm run bench\`

- Date: ${new Date().toISOString().slice(0, 10)}
- Machine: ${cpu?.model ?? 'unknown'}, ${others.length + 1} cores, which servers, chain and load share
- Ours: express-x402-gateway ${own.version}, with its ledger in SQLite, PostgreSQL or memory
- Official: @x402/express ${dependencies['@x402/express']}, @x402/evm ${dependencies['@x402/evm']}, @x402/core ${dependencies['@x402/core']}, facilitator in the same process, viem's nonce manager
- Node ${process.versions.node}, anvil ${anvil}, ${versions.join(', ')}
- ${rounds} rounds, alternating, with new servers in each, for requests without a payment three times; medians, and medians of each ratio
`
}
