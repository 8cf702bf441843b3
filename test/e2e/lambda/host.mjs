// Calls the handler of a lambda.mjs in the working directory as AWS Lambda does behind a function URL: with an event
// of payload format 2.0, as an HTTP request comes. It prints its port.
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const { handler } = await import(pathToFileURL(join(process.cwd(), 'lambda.mjs')).href)
const DOMAIN = 'abcdefgh.lambda-url.eu-central-1.on.aws'

async function eventOf(req) {
  const { pathname, search } = new URL(req.url, `https://${DOMAIN}`)
  const body = await text(req)
  const { connection: _hop, ...headers } = req.headers
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: {
      ...headers,
      host: DOMAIN,
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '443',
    },
    requestContext: {
      accountId: 'anonymous',
      apiId: 'abcdefgh',
      domainName: DOMAIN,
      domainPrefix: 'abcdefgh',
      http: {
        method: req.method,
        path: pathname,
        protocol: 'HTTP/1.1',
        sourceIp: '203.0.113.7',
        userAgent: headers['user-agent'],
      },
      requestId: crypto.randomUUID(),
      routeKey: '$default',
      stage: '$default',
      timeEpoch: Date.now(),
    },
    ...(body !== '' && { body }),
    isBase64Encoded: false,
  }
}

async function answer(req, res) {
  const { statusCode, headers, body, isBase64Encoded } = await handler(await eventOf(req), {})
  res.writeHead(statusCode, headers)
  res.end(Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'))
}

const server = createServer((req, res) => void answer(req, res))
server.listen(0, '127.0.0.1', () => console.log(`Listens at ${server.address().port}.`))
