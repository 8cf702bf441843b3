/** Pages of the list of projects. */
import { describe, expect, it } from '@jest/globals'
import { listProjects } from '../../../src/api/admin/project-list.js'
import type { Project } from '../../../src/core/merchants/project.js'

/** A project of the ledger, made as the n-th. */
function stored(position: number, id: string, name?: string): Project {
  const settings = { payTo: `0x${String(position).padStart(40, '0')}`, ...(name && { name }) }
  const row = { id, settings, version: 1, position, createdAt: 0, updatedAt: 0 }
  return { id, tokenHashes: [], settings, stored: row }
}

const CONFIGURED: Project = {
  id: 'shop',
  tokenHashes: [],
  settings: { payTo: '0xAB', name: 'Mine' },
}

type Asked = Parameters<typeof listProjects>[1]

/** The ids on a page. */
const idsOf = (all: readonly Project[], asked: Partial<Asked>) => {
  const { page, total } = listProjects(all, { sort: 'created', limit: 10, ...asked })
  return [total, ...page.map(({ id }) => id)]
}

/** The ids of all pages, one after the other. */
function walk(all: readonly Project[], sort: Asked['sort'], limit: number): readonly string[] {
  const ids: string[] = []
  let cursor: Asked['cursor']
  for (let pages = 0; pages < 100; pages++) {
    const { page, next } = listProjects(all, { sort, limit, cursor })
    ids.push(...page.map(({ id }) => id))
    if (!('nextCursor' in next)) return ids
    const text = Buffer.from(next.nextCursor, 'base64url').toString('latin1')
    cursor = JSON.parse(decodeURIComponent(text)) as Asked['cursor']
  }
  throw new Error('The pages have no end.')
}

describe('The list of projects', () => {
  const all = [
    CONFIGURED,
    stored(4, 'zebra', 'Ähre 2'),
    stored(7, 'apple', 'Ähre 10'),
    stored(9, 'b'),
  ]

  it('finds a part of an id, a name or an address, in any case', () => {
    expect(idsOf(all, { search: 'PPL' })).toEqual([1, 'apple'])
    expect(idsOf(all, { search: ' ähre ' })).toEqual([2, 'zebra', 'apple'])
    expect(idsOf(all, { search: '0xab' })).toEqual([1, 'shop'])
    expect(idsOf(all, { search: '0009' })).toEqual([1, 'b'])
    expect(idsOf(all, { search: '%' })).toEqual([0])
  })

  it('sorts by creation, id and name, and counts what is on all pages', () => {
    expect(idsOf(all, { limit: 2 })).toEqual([4, 'shop', 'zebra'])
    expect(idsOf(all, { sort: '-created' })).toEqual([4, 'b', 'apple', 'zebra', 'shop'])
    expect(idsOf(all, { sort: 'id' })).toEqual([4, 'apple', 'b', 'shop', 'zebra'])
    expect(idsOf(all, { sort: 'name' })).toEqual([4, 'zebra', 'apple', 'b', 'shop'])
  })

  it.each(['created', '-created', 'id', '-id', 'name', '-name'] as const)(
    'has each project on one page, sorted by %s',
    (sort) => {
      const same = Array.from({ length: 25 }, (_, index) =>
        stored(index + 20, `m-${index}`, 'Löwe'),
      )
      const many = [...all, ...same]
      const ids = walk(many, sort, 4)
      expect(ids).toHaveLength(many.length)
      expect(new Set(ids).size).toBe(many.length)
      expect(ids).toEqual(idsOf(many, { sort, limit: 100 }).slice(1))
    },
  )

  it('goes on where a page ended whose last project is gone by now', () => {
    const { next } = listProjects(all, { sort: 'id', limit: 2 })
    expect(next).toHaveProperty('nextCursor')
    const left = all.filter(({ id }) => id !== 'b')
    expect(idsOf(left, { sort: 'id', cursor: ['b', 'b'] })).toEqual([3, 'shop', 'zebra'])
  })
})
