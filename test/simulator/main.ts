/** `npm run simulate -- --seed S --payments N [--trace FILE] [--only K]`: exits with 1 on a violation, and tells its payment. */
import { spawnSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { simulate } from './simulation.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    payments: { type: 'string', default: '10000' },
    trace: { type: 'string' },
    only: { type: 'string' },
    'one-is-enough': { type: 'boolean' },
  },
})
const startedAt = process.hrtime.bigint()
const file = values.trace === undefined ? undefined : createWriteStream(values.trace)
const only = values.only === undefined ? undefined : ` #${values.only} `
const { violations, purchases, faults, seconds, trace, transfers, events } = await simulate({
  seed: values.seed,
  payments: Number(values.payments),
  isOneEnough: values['one-is-enough'],
  onLine(line) {
    file?.write(line)
    if (only !== undefined && line.includes(only)) process.stdout.write(line)
  },
})
const real = Number(process.hrtime.bigint() - startedAt) / 1e9
for (const { purchase, words } of violations.slice(0, 20)) console.log(`#${purchase} ${words}`)
const [first] = violations
if (first !== undefined && first.purchase >= 0 && only === undefined) {
  console.log(`The story of #${first.purchase}, which --only ${first.purchase} tells again:`)
  const args = [process.argv[1]!, '--seed', values.seed, '--payments', values.payments]
  spawnSync(process.execPath, [...args, '--only', String(first.purchase)], { stdio: 'inherit' })
}
if (only === undefined) {
  const counts = [...faults.counts].map(([fault, count]) => `${fault} ${count}`)
  console.log(`${counts.join(', ')}; ${transfers} transfers, ${events} events; trace ${trace}`)
}
console.log(
  `${purchases.length} payments, ${faults.total} faults, ${violations.length} violations, ${seconds.toFixed(0)} simulated s, ${real.toFixed(1)} real s`,
)
file?.end()
await new Promise<void>((resolve) => (file ? file.once('close', resolve) : resolve()))
process.exit(violations.length > 0 ? 1 : 0)
