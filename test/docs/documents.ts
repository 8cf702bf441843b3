/** Reads the documentation: the Markdown files, their fenced blocks, inline code, links and headings. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A Markdown file. */
export interface MarkdownFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** The text with its fenced blocks left out, line for line. */
  readonly prose: string
}

/** A fenced block. */
export interface Block {
  /** `path:line` of its fence. */
  readonly at: string
  /** First word after the fence; empty where there is none. */
  readonly lang: string
  /** What follows that word. */
  readonly meta: string
  readonly code: string
}

const FENCE = /^```(\S*) ?([^\n]*)\n(.*?)^```$/gms

/** Folders that have no documentation of ours. */
const SKIPPED = /(?:^|\/)(?:node_modules|dist|coverage|\..*)(?:\/|$)/

/** Every Markdown file of the repository. */
export const everyFile: readonly MarkdownFile[] = ['README.md', 'CHANGELOG.md']
  .concat(['src', 'test', 'example-app'].flatMap(markdownBelow))
  .map(readMarkdown)

/** What users read: the README and its pages. */
export const pages: readonly MarkdownFile[] = everyFile.filter(
  ({ path }) => path === 'README.md' || path.startsWith('example-app/docs/'),
)

/** Every fenced block of {@link pages}. */
export const blocks: readonly Block[] = pages.flatMap((page) => page.blocks)

/** A page by its name: `errors.md`. */
export function page(name: string): MarkdownFile {
  const found = pages.find(({ path }) => path === name || path.endsWith(`/${name}`))
  if (found === undefined) throw new Error(`There is no page ${name}.`)
  return found
}

function markdownBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.md') && !SKIPPED.test(path))
    .toSorted()
}

function readMarkdown(path: string): MarkdownFile {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const prose = text.replaceAll(FENCE, (block) => block.replaceAll(/[^\n]/g, ''))
  return { path, text, prose, blocks: blocksIn(text, path) }
}

/** The fenced blocks of a text. */
export function blocksIn(text: string, path: string): readonly Block[] {
  return [...text.matchAll(FENCE)].map(({ index, 1: lang = '', 2: meta = '', 3: code = '' }) => ({
    at: `${path}:${text.slice(0, index).split('\n').length}`,
    ...{ lang, meta, code },
  }))
}

/** Everything that is marked as code within the prose. */
export function inlineCode({ prose }: MarkdownFile): readonly string[] {
  return [...prose.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(([, code = '']) =>
    code.replaceAll(/\s+/g, ' '),
  )
}

/** The anchors of a file, as GitHub makes them from its headings. */
export function anchorsOf({ prose }: MarkdownFile): ReadonlySet<string> {
  const seen = new Map<string, number>()
  return new Set(
    headingsOf(prose).map((heading) => {
      const slug = slugOf(heading)
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    }),
  )
}

/** The headings of a text, without the signs that make them headings. */
export function headingsOf(prose: string): readonly string[] {
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The targets of all links and pictures of a file. */
export function linksOf({ prose }: MarkdownFile): readonly string[] {
  const withoutCode = prose.replaceAll(/(`+)[^`]+?\1/g, '')
  return [...withoutCode.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => target)
}
