import type { IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { listen, type TestServer } from './http.js'

/** What a facilitator elsewhere does with one request. */
export type Script =
  /** Answers. Text goes out as it is. */
  | { readonly status?: number; readonly body: object | string; readonly headers?: object }
  /** Breaks the connection. */
  | 'break'
  /** Never answers. */
  | 'hang'
  /** Begins to answer, and goes no further. */
  | 'hang_midway'

/** A facilitator elsewhere that does as it is told. */
export interface ScriptedFacilitator {
  readonly url: string
  /** By the last part of the path; a list is worked off, its last entry stays. */
  scripts: { [path: string]: Script | Script[] }
  /** What was asked, in order. */
  readonly requests: {
    readonly method: string
    readonly path: string
    readonly headers: IncomingHttpHeaders
    readonly body: unknown
  }[]
}

/** Runs one for a test file; each test begins with empty scripts. */
export function useScriptedFacilitator(): ScriptedFacilitator {
  let server: TestServer | undefined
  const requests: ScriptedFacilitator['requests'] = []
  const facilitator = {
    get url() {
      return `${server?.url}/x402`
    },
    scripts: {} as ScriptedFacilitator['scripts'],
    requests,
  }
  beforeEach(() => {
    facilitator.scripts = {}
    requests.length = 0
  })
  beforeAll(async () => {
    server = await listen((req, res) => {
      let text = ''
      req.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      req.on('end', () => {
        const { method = '', url: path = '', headers } = req
        requests.push({ method, path, headers, body: text && JSON.parse(text) })
        const script = next(facilitator.scripts, path.split('/').at(-1)!)
        if (script === 'hang') return
        if (script === 'hang_midway') return void res.writeHead(200).write('{')
        if (script === 'break' || script === undefined) return void res.destroy()
        const { status = 200, body, headers: extra = {} } = script
        res.writeHead(status, { 'content-type': 'application/json', ...extra })
        res.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    })
  })
  afterAll(() => server?.close())
  return facilitator
}

function next(scripts: ScriptedFacilitator['scripts'], path: string): Script | undefined {
  const script = scripts[path]
  if (!Array.isArray(script)) return script
  return script.length > 1 ? script.shift() : script[0]
}
