import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'

const source = fileURLToPath(new URL('../../src', import.meta.url))
const read = (folder: string): string => readFileSync(join(source, folder, 'README.md'), 'utf8')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
const folders = readdirSync(source, { withFileTypes: true }).filter((one) => one.isDirectory())
const tests = readdirSync(join(source, '../test'), { recursive: true, encoding: 'utf8' })
const map = ['', ...folders.map(({ name }) => name), '../test'].map(read).join('\n')
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

  it.each(folders.map(({ name }) => name))('has a row for the wing %s and its folders', (name) => {
    expect(read('')).toContain(`\n| \`${name}/\``)
    const rooms = readdirSync(join(source, name), { withFileTypes: true })
    const missing = rooms
      .filter((one) => one.isDirectory() && !read(name).includes(`\n| \`${one.name}/\``))
      .map((one) => one.name)
    expect(missing).toEqual([])
  })
})
