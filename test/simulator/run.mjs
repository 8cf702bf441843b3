// Bundles the simulator with the sources of the gateway, so that nothing is loaded while it runs, and runs it. With
// --mutations, each fault of mutations.mjs is planted in turn, and looked for with one seed after another; with
// --mutation 'its name', one of them.
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { MUTATIONS } from './mutations.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'node_modules/.cache/simulator', String(process.pid))
const SEEDS = 12
const PAYMENTS = 300

/** @returns The path of the bundle. */
async function bundle(mutation, name = 'simulator') {
  const changes = mutation === undefined ? [] : [mutation, ...(mutation.more ?? [])]
  const planted = new Set()
  const build = await rolldown({
    input: join(root, 'test/simulator/main.ts'),
    platform: 'node',
    external: /^[^./]/,
    plugins: [
      {
        name: 'outside',
        resolveId: (id, importer) =>
          id === './post.js' && importer?.endsWith('/core/chain/rpc.ts')
            ? join(root, 'test/simulator/wire.ts')
            : undefined,
        transform(code, id) {
          let changed = code
          for (const change of changes) {
            const { file, before, after } = change
            if (id !== join(root, 'src', file) || !changed.includes(before)) continue
            changed = changed.replace(before, () => after)
            planted.add(change)
          }
          return changed === code ? undefined : changed
        },
      },
    ],
  })
  const entryFileNames = `${name}.mjs`
  await build.write({ dir: folder, format: 'esm', codeSplitting: false, entryFileNames })
  await build.close()
  for (const change of changes)
    if (!planted.has(change))
      throw new Error(`${change.file} has no longer what "${mutation.name}" replaces.`)
  return join(folder, entryFileNames)
}

async function run(file, args) {
  const child = spawn(process.execPath, [file, ...args], { stdio: 'inherit' })
  const [status] = await once(child, 'exit')
  return status ?? 1
}

/** @returns Whether it ends with a violation: what it is killed by is none. */
async function violates(file, args) {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return / [1-9]\d* violations, /.test(said)
}

/** @returns The seed that finds it. */
async function find(mutation, index) {
  const file = await bundle(mutation, `mutation-${index}`)
  for (let seed = 1; seed <= (mutation.seeds ?? SEEDS); seed++) {
    // Told to nobody, the story of the payment is not run again.
    const size = ['--seed', String(seed), '--payments', String(PAYMENTS)]
    const args = [...size, '--only', 'none', '--one-is-enough']
    if (await violates(file, args)) return seed
  }
  return undefined
}

async function findAll() {
  let found = 0
  const waiting = [...MUTATIONS.entries()]
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, mutation] = next
      const startedAt = performance.now()
      const seed = await find(mutation, index)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
      if (seed !== undefined) found++
      const result = seed === undefined ? 'NOT FOUND' : `seed ${seed}`
      console.log(`${result} after ${seconds} s: ${mutation.name}`)
    }
  }
  await Promise.all([work(), work()])
  console.log(`found ${found} of ${MUTATIONS.length}`)
  return found === MUTATIONS.length ? 0 : 1
}

mkdirSync(folder, { recursive: true })
try {
  const args = process.argv.slice(2)
  const planted = args.indexOf('--mutation')
  const [, name] = planted < 0 ? [] : args.splice(planted, 2)
  const mutation = MUTATIONS.find((one) => one.name === name)
  if (name !== undefined && mutation === undefined) throw new Error(`No mutation is "${name}".`)
  process.exitCode = args.includes('--mutations')
    ? await findAll()
    : await run(await bundle(mutation), args)
} finally {
  rmSync(folder, { recursive: true })
}
