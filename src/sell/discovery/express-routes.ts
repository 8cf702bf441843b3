/**
 * Finds the paid routes of an app where Express keeps them, whatever routers it mounts: no route is written
 * down twice.
 *
 * Express 5 (`router` 2.3 and newer) keeps the path of each layer; Express 4 keeps its pattern, from which
 * the path is read back.
 */
import type { DeclaredRoute, DeclaredRoutes } from './declared-routes.js'

export interface FoundRoute {
  /** In capitals. */
  readonly method: string
  /** As in Express: `/report/:id`. */
  readonly path: string
  readonly route: DeclaredRoute
}

/** The paid routes of an app, and the places where there may be others. */
export interface FoundRoutes {
  readonly routes: readonly FoundRoute[]
  /** What could not be read, in words. */
  readonly unread: readonly string[]
}

/** The part of Express's layers that is read. */
interface Layer {
  readonly handle?: (Stacked & Parameters<DeclaredRoutes['find']>[0]) | undefined
  readonly name?: string
  readonly method?: string | undefined
  /** Express 5. */
  readonly rawPath?: unknown
  readonly slash?: boolean
  /** Express 4. */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean }
  readonly keys?: readonly { readonly name: string | number }[]
  readonly route?: Route | undefined
}

interface Stacked {
  readonly stack?: readonly Layer[]
}

interface Route extends Stacked {
  readonly path: unknown
  readonly methods: Readonly<Record<string, boolean>>
}

/** Nesting of routers that is followed. */
const MAX_DEPTH = 16

/** A middleware in front of everything below a path: `app.use('/premium', x402Protect('$1'))`. */
interface Gate {
  readonly path: string
  readonly route: DeclaredRoute
  isUsed: boolean
}

export function findRoutes(app: object, declared: DeclaredRoutes): FoundRoutes {
  const walk = new Walk(declared)
  const mounted = app as { path?: unknown }
  const path: unknown = typeof mounted.path === 'function' ? mounted.path() : ''
  walk.stack(stackOf(app), typeof path === 'string' ? path : '', [])
  return walk
}

/** Whether a request meets a paid route, which lets nobody pass unpaid. */
export function isPaid({ routes }: FoundRoutes, at: Pick<FoundRoute, 'method' | 'path'>): boolean {
  const parts = at.path.split('/')
  const fits = (part: string, place: number): boolean =>
    part === parts[place] || (/^:\w+$/.test(part) && parts[place] !== '')
  return routes.some(({ method, path, route }) => {
    const own = path.split('/')
    const isThere = method === at.method && own.length === parts.length && own.every(fits)
    return isThere && !route.mayBeFree
  })
}

/** Finds the paths, as they are declared, that the router of a route is mounted at. */
export function findMounts(app: object, route: object, outer: readonly string[] = []): string[] {
  return stackOf(app).flatMap(({ route: own, handle, ...layer }) => {
    if (own !== undefined) return own === route ? [outer.join('')] : []
    if (handle?.stack === undefined || outer.length >= MAX_DEPTH) return []
    return (mountsOf(layer) ?? []).flatMap((mount) => findMounts(handle, route, [...outer, mount]))
  })
}

class Walk implements FoundRoutes {
  readonly routes: FoundRoute[] = []
  readonly unread: string[] = []
  readonly #declared: DeclaredRoutes
  #depth = 0

  constructor(declared: DeclaredRoutes) {
    this.#declared = declared
  }

  stack(layers: readonly Layer[], path: string, outer: readonly Gate[]): void {
    if (this.#depth >= MAX_DEPTH) return
    this.#depth++
    const gates = [...outer]
    for (const layer of layers) this.#layer(layer, path, gates)
    for (const gate of gates.slice(outer.length))
      if (!gate.isUsed) this.#add('GET', gate.path || '/', gate.route)
    this.#depth--
  }

  #layer(layer: Layer, path: string, gates: Gate[]): void {
    const { route, handle } = layer
    if (route !== undefined) return this.#route(route, path, gates)
    const paid = handle && this.#declared.find(handle)
    if (paid === undefined && handle?.stack === undefined) {
      if (layer.name === 'mounted_app') this.unread.push('an app that is mounted in another one')
      return
    }
    const mounts = mountsOf(layer)
    if (mounts === undefined)
      return void this.unread.push(`what is mounted below ${path || '/'} by a pattern`)
    for (const mount of mounts) {
      if (paid !== undefined) gates.push({ path: path + mount, route: paid, isUsed: false })
      else this.stack(handle?.stack ?? [], path + mount, gates)
    }
  }

  #route({ path: own, methods, stack = [] }: Route, path: string, gates: readonly Gate[]): void {
    for (const part of [own].flat(4)) {
      const paidHere = stack.flatMap(({ handle, method }) => {
        const route = handle && this.#declared.find(handle)
        return route ? [{ route, method }] : []
      })
      if (typeof part !== 'string') {
        if (paidHere.length > 0)
          this.unread.push(`a paid route below ${path || '/'} whose path is a pattern`)
        continue
      }
      const whole = joined(path, part)
      const all = methodsOf(methods)
      for (const { route, method } of paidHere)
        for (const one of method === undefined ? all : all.filter((known) => known === method))
          this.#add(one, whole, route)
      if (paidHere.length > 0) continue
      const gate = gates.findLast((one) => whole === one.path || whole.startsWith(`${one.path}/`))
      if (gate === undefined) continue
      gate.isUsed = true
      for (const one of all) this.#add(one, whole, gate.route)
    }
  }

  #add(method: string, path: string, route: DeclaredRoute): void {
    const found = { method: method.toUpperCase(), path, route }
    const isKnown = this.routes.some((one) => one.method === found.method && one.path === path)
    // Express runs the first of two routes.
    if (!isKnown) this.routes.push(found)
  }
}

const LISTED_METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The methods of a route that are listed. One for all methods is listed with two. */
function methodsOf(methods: Readonly<Record<string, boolean>>): readonly string[] {
  const named = LISTED_METHODS.filter((one) => methods[one] === true)
  const isForAll = named.length === 0 || named.length === LISTED_METHODS.length
  return isForAll ? LISTED_METHODS.slice(0, 2) : named
}

function stackOf(app: object): readonly Layer[] {
  const { stack, _router } = app as Stacked & { readonly _router?: Stacked }
  if (Array.isArray(stack)) return stack as readonly Layer[]
  if (_router?.stack !== undefined) return _router.stack
  try {
    return (app as { readonly router?: Stacked }).router?.stack ?? []
  } catch {
    // Express 4 throws, as long as the app has no routes.
    return []
  }
}

function joined(path: string, part: string): string {
  const whole = path + (part.startsWith('/') || part === '' ? part : `/${part}`)
  return whole.length > 1 ? whole.replace(/\/$/, '') || '/' : '/'
}

/** The paths that a layer is mounted at, without a slash at their ends; `undefined` if they cannot be read. */
function mountsOf({ rawPath, slash, regexp, keys = [] }: Layer): readonly string[] | undefined {
  if (slash === true || regexp?.fast_slash === true) return ['']
  const paths = rawPath === undefined ? pathsOf(regexp, keys) : [rawPath].flat(4)
  if (paths === undefined || !paths.every((one) => typeof one === 'string')) return undefined
  return paths.map((one) => joined('', one)).map((one) => (one === '/' ? '' : one))
}

/** Reads back the paths of a pattern of Express 4: `/^\/shops(?:\/([^/]+?))\/?(?=\/|$)/i`. */
function pathsOf(
  regexp: RegExp | undefined,
  keys: readonly { readonly name: string | number }[],
): readonly string[] | undefined {
  const ENDS = String.raw`\/?(?=\/|$)`
  if (regexp?.source.endsWith(ENDS) !== true) return undefined
  let index = 0
  const paths = regexp.source.split(`${ENDS}|^`).map((source) =>
    source
      .replace(/^\^/, '')
      .replace(ENDS, '')
      .replaceAll(/\(\?:\\\/\(\[\^(?:\\)?\/\]\+\?\)\)/g, () => `/:${keys[index++]?.name}`)
      .replaceAll(/\\([/.\-$+])/g, '$1'),
  )
  return paths.every((path) => /^(?:\/[\w.:~$+-]*)*$/.test(path)) ? paths : undefined
}

export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}

/** A path of Express as OpenAPI writes it; `undefined` for one with optional parts or wildcards. */
export function openApiPath(path: string): string | undefined {
  const plain = path.replaceAll(/:(\w+)(?:\([^()]*\))?/g, '{$1}')
  return /^\/[\w/.~%{}$@!&',;=-]*$/.test(plain) && !/\{[^}]*$|\{\W/.test(plain) ? plain : undefined
}
