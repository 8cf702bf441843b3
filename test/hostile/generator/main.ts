/** Presents generated payments: `npm run hostile -- --cases 5000 --seed 7`, or one of them by `--only K`. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { startDevnet } from '../../../src/tools/devnet/index.js'
import { kinds } from './kinds/kinds.js'
import { mutationsOf } from './mutations.js'
import { runGenerated } from './run.js'

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
})
const cases = Number(values.cases)
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
const only = values.only === undefined ? undefined : Number(values.only)
if (![cases, seed, only ?? 1].every((number) => Number.isSafeInteger(number)))
  throw new TypeError('--cases, --seed and --only are integers')
process.stdout.write(`hostile: ${cases} cases, seed ${seed}\n`)
const devnet = await startDevnet()
try {
  const { violations, figures, drawn } = await runGenerated(devnet, {
    ...{ cases, seed },
    ...(only !== undefined && { only }),
  })
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`)
  const names = new Set(kinds.flatMap((kind) => mutationsOf(kind).flat()).map(({ name }) => name))
  const never = [...names].filter((name) => !drawn.has(name))
  for (const [name, times] of [...drawn].sort(([, one], [, other]) => other - one))
    process.stdout.write(`${String(times).padStart(5)} × ${name}\n`)
  process.stdout.write(
    `${drawn.size} of ${names.size} mutations were drawn; never: ${never.join(', ')}\n`,
  )
  for (const violation of violations) process.stdout.write(`VIOLATION: ${violation}\n`)
  const isWell = violations.length === 0
  process.stdout.write(`hostile: ${isWell ? 'all is well' : 'FAILED'} (seed ${seed})\n`)
  process.exitCode = isWell ? 0 : 1
} finally {
  await devnet.close()
}
process.exit()
