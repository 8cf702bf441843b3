// Writes AGENTS.md and llms.txt into the package: what a coding agent needs that has the package alone. Both
// are made of the README, the documentation and the API report, so that nothing is written twice.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'

const root = fileURLToPath(new URL('..', import.meta.url))
const DOCS = 'example-app/docs'
const read = (path) => readFileSync(join(root, path), 'utf8')

/** The part of a page below a heading, with the heading, and with links as from the root. */
function section(path, heading) {
  const text = read(path)
  const [, rest] = text.split(`\n## ${heading}\n`)
  if (rest === undefined) throw new Error(`${path} has no heading "${heading}".`)
  const body = rest.split('\n## ')[0].trim()
  return `## ${heading}\n\n${path === 'README.md' ? body : fromRoot(body, path)}`
}

/** Links of a page in the documentation, as from the root of the package. */
function fromRoot(text, path) {
  return text.replaceAll(/\]\((?!https?:)([^)]+)\)/g, (_whole, link) => {
    const target = link.startsWith('#') ? `${path}${link}` : join(DOCS, link)
    return `](${target})`
  })
}

/** The first paragraph of a page; empty if it begins with a list or a heading. */
function summary(text) {
  const first = text.split('\n\n')[1].replaceAll(/\s+/g, ' ').trim()
  return /^(?:#|- )/.test(first) ? '' : first
}

/** The API report, without the names that it imports. */
function api() {
  const [, code = ''] = read('.config/api/express-x402-gateway.api.md').split('```ts\n')
  const lines = code.split('```')[0].split('\n')
  return lines.filter((line) => !line.startsWith('import ') && line !== '// @public').join('\n')
}

const INTRODUCTION = `# Instructions for coding agents

${summary(read('README.md'))}

To add a paid route that other programs find:

1. Install \`express-x402-gateway\` and \`express\`; \`zod\` 4 for schemas, and \`@foundry-rs/anvil\` for the local chain and tests.
2. Put \`x402Protect(price, { description, input, output, examples })\` between the path and the handler, behind \`express.json()\`
   if the route has a body. Read \`req.x402.input\` in the handler. Where the price is known only after the work, declare
   \`{ upTo: '$0.10' }\` and call \`req.x402.charge('$0.0234')\`.
3. Mount \`app.use(defaultGateway().discovery())\` once. Nothing else lists the route.
4. Configure by environment variables, or with \`createGateway\`. Keep private keys out of the code.
5. Test with \`startTestShop\` of \`express-x402-gateway/testing\`, which is imported before the app: it buys on a local chain.

Each error has a code with a heading in [errors.md](${DOCS}/errors.md). All options and variables:
[configuration.md](${DOCS}/configuration.md).`

/** The documents by their names. */
export function agentDocuments() {
  const developer = `${DOCS}/developer.md`
  const pages = readdirSync(join(root, DOCS)).filter((name) => name.endsWith('.md'))
  const links = pages.map((name) => {
    const text = read(join(DOCS, name))
    const title = text.split('\n')[0].replace('# ', '')
    const words = fromRoot(summary(text), join(DOCS, name))
    return `- [${title}](${DOCS}/${name})${words && `: ${words}`}`
  })
  return {
    'AGENTS.md': [
      INTRODUCTION,
      section(developer, 'Declare what a route takes'),
      section(developer, 'Be found'),
      section(developer, 'Prices'),
      section(developer, 'Paying for what was used'),
      section('README.md', 'Sell for real'),
      section('README.md', 'Test your routes'),
      `## API\n\n\`\`\`ts\n${api().trim()}\n\`\`\`\n`,
    ].join('\n\n'),
    'llms.txt': `# express-x402-gateway

> ${summary(read('README.md'))}

- [AGENTS.md](AGENTS.md): how to add a paid route, and the whole API
- [README.md](README.md): from an empty folder to the first paid request

## Documentation

${links.join('\n')}
`,
  }
}

/** Writes them into the root of the package. */
export function buildAgents() {
  for (const [name, text] of Object.entries(agentDocuments())) writeFileSync(join(root, name), text)
}
