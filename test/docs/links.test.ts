import { describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { anchorsOf, everyFile, linksOf, ROOT, type MarkdownFile } from './documents.js'

interface Link {
  readonly from: MarkdownFile
  readonly target: string
}

const links: readonly Link[] = everyFile.flatMap((from) =>
  linksOf(from).map((target) => ({ from, target })),
)
const isExternal = ({ target }: Link) => /^[a-z]+:/i.test(target)
const name = ({ from, target }: Link) => `${from.path} → ${target}`

/** The file that a link within the repository leads to. */
function pathOf({ from, target }: Link): string {
  const [path = ''] = target.split('#')
  return path === '' ? from.path : normalize(join(dirname(from.path), path))
}

const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly files: readonly string[]
}

/** Tells whether a file is in the package; npm adds these two by itself. */
function isPublished(path: string): boolean {
  return [...files, 'README.md', 'LICENSE'].some(
    (one) =>
      path === one ||
      path.startsWith(`${one}/`) ||
      (one.includes('/**/') && new RegExp(`^${one.replace('/**/', '/(?:.*/)?')}$`).test(path)),
  )
}

/** What is wrong with a link within the repository; empty where it leads to something. */
function problemOf({ from, target }: Link): string {
  const [, anchor] = target.split('#')
  const to = pathOf({ from, target })
  if (to.startsWith('..')) return 'it leaves the repository'
  if (!existsSync(join(ROOT, to))) return `there is no ${to}`
  if (anchor === undefined) return ''
  const page = everyFile.find(({ path: one }) => one === to)
  if (page === undefined) return `${to} has no anchors`
  return anchorsOf(page).has(anchor) ? '' : `${to} has no heading for #${anchor}`
}

describe('the links of the documentation', () => {
  it('are found', () => {
    expect(links.filter(isExternal).length).toBeGreaterThan(5)
    expect(links.length).toBeGreaterThan(100)
  })

  it('lead to files and headings that exist', () => {
    const broken = links
      .filter((link) => !isExternal(link))
      .flatMap((link) => (problemOf(link) === '' ? [] : [`${name(link)}: ${problemOf(link)}`]))
    expect(broken).toEqual([])
  })

  it('lead from published pages to published pages', () => {
    const missing = links
      .filter((link) => !isExternal(link) && isPublished(link.from.path))
      .map((link) => ({ ...link, to: pathOf(link) }))
      .filter(({ to }) => !isPublished(to))
    expect(missing.map(name)).toEqual([])
  })

  it('are well-formed and safe if they lead elsewhere', () => {
    const odd = links.filter(isExternal).filter(({ target }) => {
      if (!URL.canParse(target)) return true
      const { protocol, hostname, username } = new URL(target)
      return protocol !== 'https:' || !hostname.includes('.') || username !== ''
    })
    expect(odd.map(name)).toEqual([])
  })

  it('are refused if they are broken', () => {
    const from = everyFile[0]!
    expect(problemOf({ from, target: 'nowhere.md' })).toContain('there is no')
    expect(problemOf({ from, target: '#nothing-of-this-name' })).toContain('has no heading')
    expect(problemOf({ from, target: '../elsewhere.md' })).toBe('it leaves the repository')
  })
})
