import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'

const source = fileURLToPath(new URL('../../src', import.meta.url))
const map = readFileSync(join(source, 'README.md'), 'utf8')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
const folders = readdirSync(source, { withFileTypes: true }).filter((one) => one.isDirectory())
const tests = readdirSync(join(source, '../test'), { recursive: true, encoding: 'utf8' })
const named = [...new Set([...map.matchAll(/`([\w/-]+\.(?:ts|md))`/g)].map(([, name]) => name!))]

describe('the map in src/README.md', () => {
  it.each(named.filter((name) => name.includes('/')))('names an existing file: %s', (name) => {
    expect([...files, ...tests.map((test) => join('test', test))]).toContain(name)
  })

  it.each(named.filter((name) => !name.includes('/')))(
    'names a file of some folder: %s',
    (name) => {
      expect(files.map((file) => basename(file))).toContain(name)
    },
  )

  it.each(folders.map(({ name }) => name))('has a row for the folder %s', (name) => {
    expect(map).toContain(`\n| \`${name}/\``)
  })
})
