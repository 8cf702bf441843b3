// The steps from an Express app to a paid route. AGENTS.md has their texts, and the skill their programs as well:
// test/e2e/skill.test.ts follows it.

/** When an agent should load the skill (Agent Skills: at most 1,024 characters). */
export const DESCRIPTION =
  'Charges programs, AI agents and people for requests to an Express app, by x402 payments in USDC, with the npm package express-x402-gateway. Use it to put a price on a route, sell an API, answer 402 Payment Required, meter a price by use, test paid routes on a local chain, take payments on Base, or replace @x402/express.'

export const STEPS = [
  {
    title: 'Install',
    text: 'Install `express-x402-gateway` and `express`; `zod` 4 for schemas, and `@foundry-rs/anvil` for the local chain and tests.',
    code: `\`\`\`sh
npm install express-x402-gateway express zod
npm install --save-dev @foundry-rs/anvil
\`\`\`

Node 20.19 or newer, Express 4 or 5, ES modules or CommonJS, TypeScript or JavaScript. npm may warn about install scripts: none
of them needs to run.
`,
  },
  {
    title: 'Add a paid route',
    text: "Put `x402Protect(price, { description, input, output, examples })` between the path and the handler, behind `express.json()` if the route has a body. Read `req.x402.input` in the handler. Where the price is known only after the work, declare `{ upTo: '$0.10' }` and call `req.x402.charge('$0.0234')`.",
    code: `Keep the app apart from \`listen\`, so that tests can import it. In TypeScript, \`paidRequest(req)\` returns what \`req.x402\`
holds, never \`undefined\`.

\`\`\`js file=app.mjs
import express from 'express'
import { defaultGateway, x402Protect } from 'express-x402-gateway'
import { z } from 'zod'

export const app = express()
app.use(defaultGateway().discovery())

app.get(
  '/forecast/:city',
  x402Protect('$0.01', {
    description: 'The weather in a city tomorrow',
    input: { params: z.object({ city: z.string().regex(/^[a-z]{2,40}$/) }) },
    output: z.object({ city: z.string(), forecast: z.string() }),
    examples: {
      params: { city: 'berlin' },
      output: { city: 'berlin', forecast: 'sunny' },
    },
  }),
  (req, res) => {
    const { city } = req.x402.input.params
    res.json({ city, forecast: 'sunny' })
  },
)

app.post(
  '/summary',
  express.json(),
  x402Protect(
    { upTo: '$0.10' },
    {
      description: 'A summary; costs a tenth of a cent a word',
      input: { body: z.object({ text: z.string().min(1).max(10_000) }) },
      output: z.object({ summary: z.string() }),
    },
  ),
  (req, res) => {
    const summary = req.x402.input.body.text.split(' ').slice(0, 5).join(' ')
    req.x402.charge(\`$\${(summary.split(' ').length / 1000).toFixed(3)}\`)
    res.json({ summary })
  },
)
\`\`\`

| the price is                         | write                                                                      |
| ------------------------------------ | -------------------------------------------------------------------------- |
| fixed                                | \`'$0.01'\`, \`'0.01 EUR'\`                                                    |
| known from the request               | \`(req) => '$0.02'\`                                                         |
| known after the work                 | \`{ upTo: '$0.10' }\`, then \`req.x402.charge('$0.0234')\`                     |
| zero for some                        | the option \`skip: (req) => isMember(req)\`                                  |
| for a stream, or for a side effect   | the option \`paymentFlow: 'upfront'\`: settles before the handler runs       |

- Only responses below 400 are charged. Answer 404 or 500, or throw, and the buyer pays nothing.
- \`x402Protect\` is middleware: declare it once, on the route. Never call it inside a handler, nor for each request.
- What must refuse before anyone pays (sign-in, rate limits) stands in front of it.
- \`input\` is checked before the price function runs, and refuses with a 400 of the gateway. To keep your own 400 or 404, put a
  guard in front of \`x402Protect\`.
- Of a price function, \`/openapi.json\` shows the range that \`priceRange: ['$0.01', '$2.00']\` announces, and a
  price outside it is an error. Write the rule into \`description\`. No payment for a cheap request buys a dear one.
- The handler runs once for each payment. It needs no check of its own.
`,
  },
  {
    title: 'Make it discoverable',
    text: 'Mount `app.use(defaultGateway().discovery())` once. Nothing else lists the route.',
    code: `The app above does. It serves \`/openapi.json\` with prices, \`/llms.txt\` and \`/.well-known/x402\`. Give each route a
\`description\`, an \`output\` and, if its path has parameters, \`examples.params\`: scanners report routes without. A function
that wraps the middleware hides the route; a line in the log names it.
`,
  },
  {
    title: 'Test it',
    text: 'Test with `startTestShop` of `express-x402-gateway/testing`, which is imported before the app: it buys on a local chain.',
    code: `\`\`\`js file=app.test.mjs
import { startTestShop } from 'express-x402-gateway/testing'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { app } from './app.mjs'

let shop
before(async () => {
  shop = await startTestShop(app)
})
after(() => shop.close())

test('a forecast costs one cent', async () => {
  assert.equal((await shop.fetch('/forecast/berlin')).status, 402)
  const response = await shop.buy('/forecast/berlin')
  assert.deepEqual(await response.json(), { city: 'berlin', forecast: 'sunny' })
  assert.deepEqual(await shop.balances(), { payer: '999.99', merchant: '0.01' })
})

test('a summary costs what was used', async () => {
  const response = await shop.buy('/summary', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ text: 'It rains today, and tomorrow the sun shines.' }),
  })
  assert.equal(response.settlement.amount, '5000')
})

test('a request that does not fit is refused before it pays', async () => {
  assert.equal((await shop.fetch('/forecast/42')).status, 400)
})

test('a buyer without money gets nothing', async () => {
  shop.failNext('insufficient_funds')
  await assert.rejects(shop.buy('/forecast/berlin'), { reason: 'insufficient_funds' })
})

test('programs find both routes', async () => {
  const { paths } = await (await shop.fetch('/openapi.json')).json()
  assert.deepEqual(Object.keys(paths).toSorted(), ['/forecast/{city}', '/summary'])
})
\`\`\`

\`\`\`sh
node --test
\`\`\`

\`settlement.amount\` is what was paid, in units of the token. The test needs no \`X402_…\` variable; the app itself needs them
from now on, at the next step. With vitest or jest, call the same functions in \`beforeAll\` and \`afterAll\`.
`,
  },
  {
    title: 'Run it, and buy',
    text: 'Configure by environment variables, or with `createGateway`. Keep private keys out of the code.',
    code: `\`\`\`js file=server.mjs
import { defaultGateway } from 'express-x402-gateway'
import { app } from './app.mjs'

const port = process.env.PORT ?? 4021
const server = app.listen(port, (error) => {
  if (error) throw error
  console.log(\`Selling http://localhost:\${port}/forecast/berlin\`)
})
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => {
    server.close()
    void defaultGateway().close()
  })
\`\`\`

Start the local chain, which writes the variables of the server to a file, and then the server:

\`\`\`sh background
npx express-x402-gateway devnet --env devnet.env
\`\`\`

\`\`\`sh background
node --env-file=devnet.env server.mjs
\`\`\`

\`\`\`sh
npx express-x402-gateway pay http://localhost:4021/forecast/berlin --devnet
\`\`\`
`,
  },
  {
    title: 'Go live',
    text: 'Go live on a test network first: `npx express-x402-gateway init --app` writes the variables to `.env`, and `npx express-x402-gateway doctor` checks them.',
    code: `Ask the user for the address that is paid (\`0xYourAddress\`). Never invent one, and never ask for its key.

\`\`\`sh
npx express-x402-gateway init --app --network base-sepolia --pay-to 0xYourAddress
\`\`\`

It makes a relayer: the account that sends the transactions and pays their gas. Ask the user to send a little ETH on that
network to the address that \`init\` prints. Without a node and a relayer, set \`X402_FACILITATOR_URL\` in place of
\`X402_RPC_URL\` and \`X402_RELAYER_KEY\`. Then check and start:

\`\`\`sh
npx express-x402-gateway doctor
\`\`\`

\`\`\`sh background
node --env-file=.env server.mjs
\`\`\`

For real money, repeat this step in another folder with \`--network base\`, a node of a provider (\`--rpc-url\`) and a new relayer.

- \`X402_DATABASE_URL\`: SQLite for one process, \`postgres://…\` for several. One ledger for all processes that sell for one
  payee: with a ledger each, one payment could buy twice.
- \`X402_PUBLIC_URL\`: the app's root as clients see it. Behind a proxy, also \`app.set('trust proxy', 1)\`.
- \`.env\` stays out of version control. \`init\` adds it to \`.gitignore\`.
`,
  },
]

const PACKAGE = 'node_modules/express-x402-gateway'

export const AFTERWARDS = `## When something fails

Mistakes in options throw a \`ConfigError\` when the app starts, which lists all of them with their codes. Refused payments name a
reason, such as \`insufficient_funds\`. Look both up by their code in \`${PACKAGE}/example-app/docs/errors.md\`.

| question                                   | read                                              |
| ------------------------------------------ | ------------------------------------------------- |
| types of everything that is exported       | \`${PACKAGE}/AGENTS.md\`                            |
| prices, metering, streams, merchants, CORS | \`${PACKAGE}/example-app/docs/developer.md\`        |
| tools of an MCP server                     | \`${PACKAGE}/example-app/docs/mcp.md\`              |
| test runners, failures                     | \`${PACKAGE}/example-app/docs/testing.md\`          |
| every option and variable                  | \`${PACKAGE}/example-app/docs/configuration.md\`    |
| an app that uses \`@x402/express\`           | \`${PACKAGE}/example-app/docs/moving.md\`           |
| Docker, probes, metrics                    | \`${PACKAGE}/example-app/docs/production.md\`       |
`
