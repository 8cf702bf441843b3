import { describe, expect, it } from '@jest/globals'
import express from 'express'
import express4 from 'express4'
import { AppDescriber } from '../../../src/sell/discovery/app-documents.js'
import { DeclaredRoutes, type DeclaredRoute } from '../../../src/sell/discovery/declared-routes.js'
import { findRoutes, openApiPath } from '../../../src/sell/discovery/express-routes.js'

/** Declares routes without a gateway. */
function till() {
  const declared = new DeclaredRoutes()
  let reads = 0
  const pay = (description = ''): express.RequestHandler => {
    const middleware: express.RequestHandler = (_req, _res, next) => next()
    const price = async () => {
      reads += 1
      return {}
    }
    const route: DeclaredRoute = {
      options: { description },
      declaration: undefined,
      mayBeFree: false,
      price,
    }
    declared.add(middleware, route)
    return middleware
  }
  const listOf = (app: object) => {
    const { routes, unread } = findRoutes(app, declared)
    return { routes: routes.map(({ method, path }) => `${method} ${path}`), unread }
  }
  return { declared, pay, listOf, readsOf: () => reads }
}

/** A wrapper without the properties of what it wraps, as `asyncHandler` often is. */
const bare =
  (handler: express.RequestHandler): express.RequestHandler =>
  (req, res, next) =>
    handler(req, res, next)

/** A wrapper with them. */
const copying = (handler: express.RequestHandler): express.RequestHandler =>
  Object.assign(bare(handler), handler)

const answer: express.RequestHandler = (_req, res) => void res.end()

describe.each([
  ['5', express],
  ['4', express4],
])('findRoutes in Express %s', (_version, express) => {
  it('finds routes in routers, wherever they are mounted', () => {
    const { pay, listOf } = till()
    const deep = express.Router().post('/:id/pages', pay(), answer)
    const inner = express.Router().get('/', pay(), answer).use('/reports.v1/:shop', deep)
    const app = express()
    app.get('/free', answer)
    app.get('/weather', pay(), answer)
    app.use('/api/', inner)
    app.use(express.Router().get('/root', pay(), answer))
    app.use(['/a', '/b-c'], express.Router().get('/both', pay(), answer))
    expect(listOf(app)).toEqual({
      routes: [
        'GET /weather',
        'GET /api',
        'POST /api/reports.v1/:shop/:id/pages',
        'GET /root',
        'GET /a/both',
        'GET /b-c/both',
      ],
      unread: [],
    })
  })

  it('finds what is behind a middleware in front of a path', () => {
    const { pay, listOf } = till()
    const app = express()
    app.get('/premium/earlier', answer)
    app.use('/premium', pay())
    app.use('/premium', express.Router().get('/one', answer).post('/two', answer))
    app.get('/premium/three', answer)
    app.get('/premiums', answer)
    app.use('/files', pay(), express.static('/nowhere'))
    expect(listOf(app).routes).toEqual([
      'GET /premium/one',
      'POST /premium/two',
      'GET /premium/three',
      'GET /files',
    ])
  })

  it('takes all methods of a route for those that it handles, and the first of two', () => {
    const { pay, listOf } = till()
    const app = express()
    app.route('/one').all(pay()).put(answer)
    app.all('/two', pay(), answer)
    app.get('/one', pay(), answer)
    expect(listOf(app).routes).toEqual(['PUT /one', 'GET /two', 'POST /two', 'GET /one'])
  })

  it('finds middleware and routers in wrappers that copy properties', () => {
    const { pay, listOf } = till()
    const app = express()
    app.get('/wrapped', copying(pay()), answer)
    app.use('/gate', copying(pay()))
    app.use('/in', copying(express.Router().get('/side', copying(copying(pay())), answer)))
    expect(listOf(app)).toEqual({
      routes: ['GET /wrapped', 'GET /in/side', 'GET /gate'],
      unread: [],
    })
  })

  it('tells once of an app whose paid routes are all in other wrappers', async () => {
    const { declared, pay } = till()
    const shop = express()
    shop.get('/hidden', bare(pay('Hidden')), answer)
    const warnings: string[] = []
    const warn = (words: string): void => void warnings.push(words)
    const logger = { debug() {}, info() {}, warn, error() {} }
    const describer = new AppDescriber({ declaredRoutes: declared, logger })
    for (const app of [shop, shop])
      expect(Object.keys((await describer.openapi(app)).paths)).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('any paid route')])
  })

  it('are written once for all the hosts that requests name, which each document repeats', async () => {
    const { declared, pay, readsOf } = till()
    const shop = express().get('/sold', pay('Sold'), answer)
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const describer = new AppDescriber({ declaredRoutes: declared, logger })
    for (let host = 0; host < 50; host++) {
      const root = `http://host-${host}.example`
      const described = async (path: string) => (await describer.describe(shop, root, path))?.body
      expect(JSON.parse((await described('/openapi.json')) ?? '')).toMatchObject({
        info: { title: `host-${host}.example` },
        servers: [{ url: root }],
      })
      expect(await described('/llms.txt')).toContain(`${root}/sold`)
      expect(await described('/other')).toBeUndefined()
    }
    expect(readsOf()).toBe(1)
  })

  it('says what it cannot read', () => {
    const { pay, listOf } = till()
    const app = express()
    app.use(/^\/re/, express.Router().get('/one', pay(), answer))
    app.get(/^\/pattern/, pay(), answer)
    app.use('/sub', express())
    expect(listOf(app)).toEqual({
      routes: [],
      unread: [
        'what is mounted below / by a pattern',
        'a paid route below / whose path is a pattern',
        'an app that is mounted in another one',
      ],
    })
  })

  it('finds nothing in an app without routes', () => {
    expect(till().listOf(express())).toEqual({ routes: [], unread: [] })
  })

  it('names the routes of a mounted app by their whole paths', () => {
    const { pay, listOf } = till()
    const app = express()
    const sub = express()
    sub.get('/one', pay(), answer)
    app.use('/sub', sub)
    expect(listOf(sub).routes).toEqual(['GET /sub/one'])
  })
})

describe('openApiPath', () => {
  it.each([
    ['/report/:id', '/report/{id}'],
    ['/report/:id(\\d+)/pages', '/report/{id}/pages'],
    ['/a.b-c/~x', '/a.b-c/~x'],
    ['/', '/'],
  ])('writes %s as %s', (path, written) => {
    expect(openApiPath(path)).toBe(written)
  })

  it.each(['/a{/:b}', '/files/*path', '/x/:id?', '/a+b', '/(x)?'])('has no form for %s', (path) => {
    expect(openApiPath(path)).toBeUndefined()
  })
})
