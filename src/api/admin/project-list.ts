/** Pages of projects. All projects are in memory, so every page costs the same. */
import { z } from 'zod'
import type { Project } from '../../core/merchants/project.js'
import { cursorParameter, limitParameter, pageOf } from '../serve/pages.js'

const MAX_SEARCH = 200

/** What a list is sorted by; with `-`, the other way round. */
const SORTS = ['created', '-created', 'id', '-id', 'name', '-name'] as const

type Sort = (typeof SORTS)[number]

/** The place of a project in a list: what it is sorted by, and its id. */
const placeSchema = z.tuple([z.union([z.string(), z.number()]), z.string()])

type Place = z.output<typeof placeSchema>

export const projectListQuery = z.object({
  search: z
    .string('must be given once')
    .max(MAX_SEARCH)
    .optional()
    .meta({
      description: 'Only projects that have this in their id, name or `payTo`, in any case.',
      examples: ['acme'],
    }),
  sort: z.enum(SORTS).default('created').meta({
    description:
      'Order: by creation, those of the configuration first; by id; or by name, or the id of those without one. With `-`, the other way round.',
  }),
  cursor: cursorParameter(readPlace),
  limit: limitParameter('Projects', 100),
})

/** Numbers in ids and names are sorted by what they count: `shop-2` before `shop-10`. */
const { compare } = new Intl.Collator('en', { numeric: true })

export function listProjects(
  all: readonly Project[],
  { search = '', sort, cursor, limit }: z.output<typeof projectListQuery>,
) {
  const wanted = search.trim().toLowerCase()
  const { projects, textOf, placeOf, order } = sortedBy(all, sort)
  const fitting =
    wanted === '' ? projects : projects.filter((project) => textOf(project).includes(wanted))
  const start =
    cursor === undefined ? 0 : fitting.findIndex((one) => order(placeOf(one), cursor) > 0)
  const rest = start < 0 ? [] : fitting.slice(start, start + limit + 1)
  return { total: fitting.length, ...pageOf(rest, limit, (last) => writePlace(placeOf(last))) }
}

interface Sorted {
  readonly projects: readonly Project[]
  /** What a search looks into, in lower case. */
  readonly textOf: (project: Project) => string
  readonly placeOf: (project: Project) => Place
  readonly order: (one: Place, other: Place) => number
}

/** The orders that were asked for, until a project changes. */
const known = new WeakMap<readonly Project[], Map<Sort, Sorted>>()

function sortedBy(all: readonly Project[], sort: Sort): Sorted {
  const orders = known.get(all) ?? new Map<Sort, Sorted>()
  known.set(all, orders)
  const found = orders.get(sort) ?? sortProjects(all, sort)
  orders.set(sort, found)
  return found
}

/** The configuration was there before all that was made at run time. */
const CONFIGURED_FIRST = -1_000_000_000

function sortProjects(all: readonly Project[], sort: Sort): Sorted {
  const sign = sort.startsWith('-') ? -1 : 1
  const by = sort.replace('-', '')
  const order = (one: Place, other: Place): number =>
    sign * (comparePlaces(one[0], other[0]) || comparePlaces(one[1], other[1]))
  const rows = all.map((project, index) => {
    const { id, stored } = project
    const created = stored?.position ?? CONFIGURED_FIRST + index
    const place: Place = [by === 'created' ? created : by === 'id' ? id : nameOf(project), id]
    return { project, place, text: `${id}\n${nameOf(project)}\n${payToOf(project)}`.toLowerCase() }
  })
  const byProject = new Map(rows.map((row) => [row.project, row]))
  return {
    projects: rows
      .toSorted((one, other) => order(one.place, other.place))
      .map(({ project }) => project),
    textOf: (project) => byProject.get(project)?.text ?? '',
    placeOf: (project) => byProject.get(project)?.place ?? [0, project.id],
    order,
  }
}

function comparePlaces(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  const [text, second] = [String(one), String(other)]
  return compare(text, second) || (text < second ? -1 : Number(text > second))
}

// Also of a merchant that is invalid under this configuration.
const nameOf = ({ id, settings }: Project): string => memberOf(settings, 'name') || id
const payToOf = ({ settings }: Project): string => memberOf(settings, 'payTo')

function memberOf(settings: object | undefined, name: 'name' | 'payTo'): string {
  const value = (settings as Readonly<Record<string, unknown>> | undefined)?.[name]
  return typeof value === 'string' ? value : ''
}

/** A cursor holds one-byte characters only. */
const writePlace = (place: Place): string => encodeURIComponent(JSON.stringify(place))

function readPlace(text: string): Place | undefined {
  try {
    return placeSchema.safeParse(JSON.parse(decodeURIComponent(text))).data
  } catch {
    return undefined
  }
}
