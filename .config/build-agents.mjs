// Writes AGENTS.md, llms.txt and a skill into the package: what a coding agent needs that has the package alone. All
// are made of the steps below, the README, the documentation and the API report, so that nothing is written twice.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dirname, join } from 'node:path'
import { AFTERWARDS, DESCRIPTION, STEPS } from './agent-steps.mjs'

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

${STEPS.map(({ text }, index) => `${index + 1}. ${text}`).join('\n')}

Each error has a code with a heading in [errors.md](${DOCS}/errors.md). All options and variables:
[configuration.md](${DOCS}/configuration.md).`

const SKILL = `---
name: express-x402-gateway
description: ${DESCRIPTION}
---

# Charge for routes of an Express app

${summary(read('README.md'))}

${STEPS.map(({ title, text, code }, index) => `## ${index + 1}. ${title}\n\n${text}\n\n${code}`).join('\n')}
${AFTERWARDS}`

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
- [SKILL.md](skills/express-x402-gateway/SKILL.md): the same steps with programs to copy
- [README.md](README.md): from an empty folder to the first paid request

## Documentation

${links.join('\n')}
`,
    'skills/express-x402-gateway/SKILL.md': SKILL,
  }
}

/** Writes them into the root of the package. */
export function buildAgents() {
  for (const [name, text] of Object.entries(agentDocuments())) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
}
