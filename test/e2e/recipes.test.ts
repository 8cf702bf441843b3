/** The recipes of example-app/docs/testing.md, each as a project that has only what it says. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { install, pack, ROOT } from '../support/packed.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const PAGE = join(ROOT, 'example-app/docs/testing.md')
const BLOCK = /^```\w+ recipe=(\w+) file=(\S+)\n(.*?)^```$/gms

/** Tools that a project shares with this one; the package and Express it has installed itself. */
const TOOLS = ['vitest', 'jest', 'supertest', 'typescript', '@foundry-rs/anvil', '@types/node']

const installed = new Map<number, string>()
const folder = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  const tarball = await pack(folder)
  for (const version of [5, 4]) {
    const project = join(folder, `express-${version}`)
    await mkdir(project)
    await install(project, [tarball, `express@${version}`, `@types/express@${version}`])
    for (const tool of TOOLS) await link(join(project, 'node_modules', tool), tool)
    installed.set(version, project)
  }
})

async function link(path: string, tool: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { recursive: true, force: true })
  await symlink(join(ROOT, 'node_modules', tool), path, 'junction')
}

/** Writes the files of a recipe into a project with this version of Express. */
async function writeRecipe(recipe: string, express: number): Promise<string> {
  const project = join(folder, recipe)
  const page = await readFile(PAGE, 'utf8')
  for (const [, name, file = '', code = ''] of page.matchAll(BLOCK)) {
    if (name !== recipe) continue
    await mkdir(dirname(join(project, file)), { recursive: true })
    await writeFile(join(project, file), code)
  }
  await symlink(
    join(installed.get(express)!, 'node_modules'),
    join(project, 'node_modules'),
    'junction',
  )
  return project
}

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Runs a program without the variables of the test runner that runs this test. */
async function runIn(project: string, args: readonly string[]): Promise<Ended> {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, args, {
    cwd: project,
    env: { PATH, HOME, TMPDIR, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output: (await output).join('') }
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run']
const patience = ['--testTimeout', '300000', '--hookTimeout', '300000']

describe('a recipe for testing paid routes', () => {
  it.each([
    { recipe: 'vitest', express: 5, command: [...vitest, ...patience], passed: /2 passed/ },
    {
      recipe: 'jest',
      express: 5,
      command: ['node_modules/jest/bin/jest.js', '--detectOpenHandles', '--testTimeout=300000'],
      passed: /2 passed/,
    },
    { recipe: 'node', express: 4, command: ['--test'], passed: /pass 2/ },
  ])(
    'is complete, passes, and ends by itself: $recipe on Express $express',
    async ({ recipe, express, command, passed }) => {
      const project = await writeRecipe(recipe, express)
      const { code, output } = await runIn(project, command)
      expect(output).toMatch(passed)
      expect(output).not.toMatch(/open handle|did not exit|FAIL/)
      expect(code).toBe(0)
    },
  )

  it('fails if the route sells at another price than its test expects', async () => {
    const project = join(folder, 'node')
    const app = await readFile(join(project, 'app.js'), 'utf8')
    await writeFile(join(project, 'app.js'), app.replace('$0.25', '$0.26'))
    const { code, output } = await runIn(project, ['--test'])
    expect(output).toMatch(/999\.74/)
    expect(code).not.toBe(0)
  })

  it('type-checks under strict, for TypeScript', async () => {
    const { output } = await runIn(join(folder, 'vitest'), ['node_modules/typescript/bin/tsc'])
    expect(output).toBe('')
  })
})
