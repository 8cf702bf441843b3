import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { runCli } from '../../../src/tools/cli/cli.js'
import { openConfig } from '../../../src/gateway/config/read/config-file.js'
import { optionsFromEnvironment } from '../../../src/gateway/config/read/override.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { hashToken } from '../../../src/shared/crypto/identify-token.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const PAY_TO = '0x000000000000000000000000000000000000bEEF'

let cwd: string
const toEnd = useCleanup()
beforeEach(() => {
  cwd = temporaryFolder(toEnd)
})

async function init(args: readonly string[]) {
  const printed: string[] = []
  const complained: string[] = []
  const code = await runCli(['init', ...args], {
    ...{ env: {}, cwd, signal: new AbortController().signal },
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async () => undefined,
  })
  return { code, printed, complained: complained.join('\n') }
}

const resolved = async () =>
  (await openConfig({ config: undefined, cwd, env: {} })).with(resolveOptions)
const text = (name: string): Promise<string> => readFile(join(cwd, name), 'utf8')

describe('init', () => {
  it('writes a configuration that works, and a key that only its owner can read', async () => {
    const { code, printed, complained } = await init(['--pay-to', PAY_TO])
    expect(code).toBe(0)
    const { networks, projects, publicUrl } = await resolved()
    expect(networks).toMatchObject([
      { network: { shortName: 'base-sepolia' }, core: { rpcUrl: 'https://sepolia.base.org/' } },
    ])
    expect(projects).toMatchObject([
      { id: 'shop', merchant: { payTo: PAY_TO, currency: 'USD', accepts: [{ symbol: 'USDC' }] } },
    ])
    expect(publicUrl).toBeUndefined()
    expect((await stat(join(cwd, '.env'))).mode & 0o777).toBe(0o600)
    expect(printed).toStrictEqual([expect.stringMatching(/^x402_[\w-]{43}$/)])

    const key = /RELAYER_KEY=(0x[0-9a-f]{64})/.exec(await text('.env'))![1]!
    const config = await text('gateway.config.json')
    expect(config).toContain('// Keys of accounts')
    expect(config).toContain(hashToken(printed[0]!))
    for (const shown of [config, complained]) {
      expect(shown).not.toContain(key.slice(2))
      expect(shown).not.toContain(printed[0])
    }
  })

  it.each([
    ['makes one', undefined, '.env\n'],
    ['extends one', 'node_modules/\ndist', 'node_modules/\ndist\n.env\n'],
    ['leaves one alone that has it', 'dist\r\n.env\n', 'dist\r\n.env\n'],
    ['overrules one', '.env\n!.env\n', '.env\n!.env\n.env\n'],
  ])('keeps the key out of git by .gitignore: %s', async (_name, before, after) => {
    if (before !== undefined) await writeFile(join(cwd, '.gitignore'), before)
    execFileSync('git', ['init', '--quiet'], { cwd })
    const { code } = await init(['--pay-to', PAY_TO])
    expect(code).toBe(0)
    expect(await text('.gitignore')).toBe(after)
    const status = execFileSync('git', ['status', '--porcelain', '-uall'], {
      cwd,
      encoding: 'utf8',
    })
    expect(status.split('\n').toSorted()).toStrictEqual([
      '',
      '?? .gitignore',
      '?? gateway.config.json',
    ])
  })

  it('warns that git sees the key if .gitignore cannot be written', async () => {
    await mkdir(join(cwd, '.gitignore'))
    const { code, complained } = await init(['--pay-to', PAY_TO])
    expect(code).toBe(0)
    expect(complained).toContain('out of version control yourself')
  })

  it('follows its flags', async () => {
    await init([
      ...['--pay-to', PAY_TO, '--network', 'eip155:137'],
      ...['--rpc-url', 'https://node.example/key'],
    ])
    const { networks } = await resolved()
    expect(networks[0]).toMatchObject({
      ...{ network: { shortName: 'polygon' }, core: { rpcUrl: 'https://node.example/key' } },
    })
    expect(await text('gateway.config.json')).not.toContain('node.example')
  })

  it.each([
    [[], '--pay-to is missing.'],
    [['--pay-to', 'me'], '--pay-to: must be 0x'],
    [['--pay-to', PAY_TO, '--network', 'nowhere'], "--network: 'nowhere' is not a known network"],
    [['--pay-to', PAY_TO, '--network', 'polygon'], '--rpc-url is missing.'],
    [
      ['--pay-to', PAY_TO, '--network', 'skale-base-sepolia', '--rpc-url', 'https://x'],
      '--network: has no well-known token',
    ],
    [['--pay-to', PAY_TO, '--network', 'basee'], "did you mean 'base'?\n"],
    [['--pay-to', PAY_TO, '--rpc-url', 'node'], '--rpc-url: must be an absolute'],
  ])('explains what is wrong with %j, and writes nothing', async (args, message) => {
    const { code, complained } = await init([...args])
    expect(code).toBe(2)
    expect(complained).toContain(message)
    expect(await readdir(cwd)).toStrictEqual([])
  })

  it.each(['gateway.config.json', '.env'])('never overwrites %s', async (name) => {
    await writeFile(join(cwd, name), 'mine')
    const { code, complained } = await init(['--pay-to', PAY_TO])
    expect(code).toBe(1)
    expect(complained).toContain(`${name} exists: nothing was written. Move it away`)
    expect(await readdir(cwd)).toStrictEqual([name])
    expect(await text(name)).toBe('mine')
  })

  it('writes the variables of an app, and no other file', async () => {
    const { code, printed, complained } = await init(['--app', '--pay-to', PAY_TO])
    expect(code).toBe(0)
    expect(printed).toStrictEqual([])
    expect((await readdir(cwd)).toSorted()).toStrictEqual(['.env', '.gitignore'])
    expect((await stat(join(cwd, '.env'))).mode & 0o777).toBe(0o600)
    expect(await text('.gitignore')).toBe('.env\n')
    const env = parseEnv(await text('.env'))
    expect(complained).toContain(privateKeyToAddress(env['X402_RELAYER_KEY'] as `0x${string}`))
    expect(complained).not.toContain(env['X402_RELAYER_KEY'])
    // As an app reads it, and `doctor` beside it.
    const { ledger, ...options } = optionsFromEnvironment(env, {
      variables: ['X402_DATABASE_URL'],
      folder: cwd,
    })
    expect(resolveOptions(options)).toMatchObject({
      networks: [{ network: { shortName: 'base-sepolia' } }],
      projects: [{ merchant: { payTo: PAY_TO } }],
    })
    await ledger?.close()
    expect(await readdir(join(cwd, 'data'))).toContain('ledger.db')
    expect(await resolved()).toMatchObject({ projects: [{ merchant: { payTo: PAY_TO } }] })
  })

  it('adds the variables of an app to an .env that has others, and changes none', async () => {
    const before = 'SESSION_SECRET=s3cret\n# mine\nSTRIPE_KEY="sk"'
    await writeFile(join(cwd, '.env'), before, { mode: 0o644 })
    const { code, complained } = await init(['--app', '--pay-to', PAY_TO])
    expect(code).toBe(0)
    expect(complained).toContain(`Extended: ${join(cwd, '.env')}`)
    expect(complained).toMatch(/chmod 600 \S+\.env/)
    const after = await text('.env')
    expect(after.startsWith(`${before}\n\n# Payments`)).toBe(true)
    expect(parseEnv(after)).toMatchObject({ STRIPE_KEY: 'sk', X402_PAY_TO: PAY_TO })
  })

  it('refuses an .env that has a relayer already, whose key may hold money', async () => {
    await writeFile(join(cwd, '.env'), 'X402_RELAYER_KEY=0x1\n')
    const { code, complained } = await init(['--app', '--pay-to', PAY_TO])
    expect(code).toBe(1)
    expect(complained).toContain('sets X402_RELAYER_KEY already: nothing was written')
    expect(await text('.env')).toBe('X402_RELAYER_KEY=0x1\n')
    expect(await readdir(cwd)).toStrictEqual(['.env'])
  })

  it.each([['--app'], []])('writes no key through a link: %j', async (...flags) => {
    const target = join(cwd, 'published.txt')
    await writeFile(target, 'public\n')
    const folder = join(cwd, 'app')
    await mkdir(folder)
    await symlink(target, join(folder, '.env'))
    const args = ['--pay-to', PAY_TO, '--dir', 'app']
    const { code, complained } = await init([...flags, ...args])
    expect(code).toBe(1)
    expect(complained).toContain(join(folder, '.env'))
    expect(await text('published.txt')).toBe('public\n')
  })

  it.each([['--app'], []])('names the folder to go on in: %j', async (...flags) => {
    const args = ['--pay-to', PAY_TO, '--dir', 'other folder']
    const { code, complained } = await init([...flags, ...args])
    expect(code).toBe(0)
    expect(complained).toContain("1. cd 'other folder'")
  })

  it('changes nothing if it cannot write', async () => {
    await writeFile(join(cwd, 'folder'), 'a file')
    const { code, complained } = await init(['--pay-to', PAY_TO, '--dir', 'folder'])
    expect(code).toBe(1)
    expect(complained).toMatch(/nothing was written: .*folder\/\.env \((EEXIST|ENOTDIR)\)/)
    expect(await readdir(cwd)).toStrictEqual(['folder'])
  })
})
