import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findAnvil } from '../../../src/tools/devnet/find-anvil.js'

describe('findAnvil', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anvil-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const app = () => join(folder, 'app', 'package.json')
  const place = (file: string, mode = 0o755): string => {
    writeFileSync(file, '')
    chmodSync(file, mode)
    return file
  }

  it('finds the binary of the npm package', () => {
    expect(findAnvil({ path: '' })).toMatch(/@foundry-rs[\\/]anvil-\w+-\w+[\\/]bin[\\/]anvil/)
  })

  it('prefers the npm package to the PATH', () => {
    place(join(folder, 'anvil'))
    expect(findAnvil({ path: folder })).toContain('@foundry-rs')
  })

  it('takes the one on the PATH where the package is not installed', () => {
    const anvil = place(join(folder, 'anvil'))
    const path = [join(folder, 'nowhere'), '', folder].join(delimiter)
    expect(findAnvil({ from: [app()], path })).toBe(anvil)
  })

  it('passes over a file on the PATH that cannot be executed', () => {
    place(join(folder, 'anvil'), 0o644)
    expect(() => findAnvil({ from: [app()], path: folder })).toThrow('anvil')
  })

  it('passes over a package without the binary of this platform', () => {
    const launcher = join(folder, 'app', 'node_modules', '@foundry-rs', 'anvil')
    mkdirSync(launcher, { recursive: true })
    writeFileSync(join(launcher, 'package.json'), '{"name":"@foundry-rs/anvil"}')
    const anvil = place(join(folder, 'anvil'))
    expect(findAnvil({ from: [app()], path: folder })).toBe(anvil)
  })

  it('names the package of this platform when only the launcher is installed and on the PATH', () => {
    const launcher = join(folder, 'app', 'node_modules', '@foundry-rs', 'anvil')
    const bin = join(folder, 'app', 'node_modules', '.bin')
    mkdirSync(launcher, { recursive: true })
    mkdirSync(bin)
    writeFileSync(join(launcher, 'package.json'), '{"name":"@foundry-rs/anvil"}')
    symlinkSync(place(join(launcher, 'bin.mjs')), join(bin, 'anvil'))
    expect(() => findAnvil({ from: [app()], path: bin })).toThrow(
      /npm install --save-dev @foundry-rs\/anvil-\w+-\w+/,
    )
  })

  it('names the package to install when there is none', () => {
    expect(() => findAnvil({ from: [app()], path: folder })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        option: 'devnet',
        message: expect.stringContaining('npm install --save-dev @foundry-rs/anvil'),
      }),
    )
  })
})
