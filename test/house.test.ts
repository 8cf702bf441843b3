/** What `src/README.md` promises of the architecture, where the linter cannot see it. */
import { describe, expect, it } from '@jest/globals'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../src', import.meta.url))

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(?:c?ts|tsx)$/.test(name))
  .map((name) => join(SRC, name))

const textOf = (file: string): string => readFileSync(file, 'utf8')

/** Files that a file imports, those of which it only imports types included. */
function importsOf(file: string): readonly string[] {
  const specifiers = [...textOf(file).matchAll(/(?:from|import)\s+'(\.{1,2}\/[^']+)'/g)]
  return specifiers.map(([, specifier = '']) => {
    const source = join(dirname(file), specifier.replace(/\.(c?)js$/, '.$1ts'))
    return existsSync(`${source}x`) ? `${source}x` : source
  })
}

/** Circles of imports, each by the files that it goes through. */
function circles(): readonly string[] {
  const found = new Set<string>()
  const done = new Set<string>()
  const walk = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file)
    if (start >= 0) {
      const circle = way.slice(start).map((one) => relative(SRC, one))
      found.add(circle.toSorted().join(' ↔ '))
    } else if (!done.has(file)) {
      for (const other of importsOf(file)) walk(other, [...way, file])
      done.add(file)
    }
  }
  for (const file of files) walk(file, [])
  return [...found]
}

describe('the house', () => {
  it('has no circle of imports, not even of types alone', () => {
    expect(circles()).toEqual([])
  })

  it('asks shared/world.ts for time and chance, apart from what runs in browsers and its tools', () => {
    const asks =
      /(?<![\w.#])(?:setTimeout|setInterval|setImmediate|randomBytes|randomUUID)\(|Date\.now|new Date\(\)|performance\.now\(|Math\.random|getRandomValues|AbortSignal\.timeout|timers\/promises/
    const code = (file: string): string => textOf(file).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '')
    const asking = files
      .map((file) => relative(SRC, file))
      .filter((file) => !/^(?:pages|tools)\//.test(file) && asks.test(code(join(SRC, file))))
    // Browsers, too, sign payments: they load nothing of Node's.
    expect(asking.toSorted()).toEqual(['shared/protocol/random-hex.ts', 'shared/world.ts'])
  })

  it('has three files in its root, and nine wings', () => {
    const root = files.filter((file) => dirname(file) === SRC)
    expect(root.map((file) => relative(SRC, file)).toSorted()).toEqual([
      'index.ts',
      'mcp.ts',
      'sql.ts',
    ])
    const wings = readdirSync(SRC, { withFileTypes: true }).filter((one) => one.isDirectory())
    expect(wings.map(({ name }) => name).toSorted()).toEqual([
      'api',
      'core',
      'gateway',
      'ledger',
      'operate',
      'pages',
      'sell',
      'shared',
      'tools',
    ])
  })

  it('knows ERC-3009 in its folder alone, and where merchants sign it', () => {
    const isErc3009 = (file: string): boolean => /\/erc3009(?:\/|\.ts$)/.test(file)
    const users = files.filter((file) => !isErc3009(file) && importsOf(file).some(isErc3009))
    expect(users.map((file) => relative(SRC, file)).toSorted()).toEqual([
      'api/refunds/refund-endpoints.ts',
      'api/refunds/refund-payment.ts',
      'core/schemes/evm/exact.ts',
      // A transfer that an authorization has made is no permit's.
      'core/schemes/evm/permit2/judge.ts',
      'core/schemes/evm/transfer-methods.ts',
    ])
  })

  it('imports only files that are there', () => {
    const missing = files.flatMap((file) =>
      importsOf(file).filter((one) => !files.includes(one) && !one.endsWith('.json')),
    )
    expect(missing).toEqual([])
  })
})
