/** Finds the examples of TSDoc. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** A piece of TypeScript that a reader may copy. */
export interface Example {
  /** `file:line`, where it stands. */
  readonly at: string
  readonly code: string
}

/** A name that an entry point exports. */
export interface ExportedValue {
  readonly name: string
  /** The file that declares it. */
  readonly file: string
  /** Its TSDoc, without the asterisks. */
  readonly doc: string
}

const FENCE = /^```ts\n(.*?)^```$/gms
const DOC = /\/\*\*(.*?)\*\//gs
const EXPORT_FROM = /^export \{([^}]*)\} from '([^']+)'/gms

/** Every example of the TSDoc below a folder. */
export function examplesInSources(folder: string, root: string): readonly Example[] {
  return sourcesBelow(folder).flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(DOC)].flatMap((comment) => {
      const first = text.slice(0, comment.index).split('\n').length
      return fencedIn(withoutAsterisks(comment[1] ?? '')).map(({ code, line }) => ({
        at: `${relative(root, file)}:${first + line - 1}`,
        code,
      }))
    })
  })
}

/** Every `@example` below a folder that is no block marked `ts`: nobody would check it. */
export function unmarkedExamples(folder: string): readonly string[] {
  return sourcesBelow(folder).flatMap((file) => {
    const docs = [...readFileSync(file, 'utf8').matchAll(DOC)]
    const examples = docs.flatMap(([, doc]) =>
      withoutAsterisks(doc ?? '')
        .split('@example')
        .slice(1),
    )
    return examples.some((example) => !/^[^@]*?^```ts$/ms.test(example)) ? [file] : []
  })
}

/** The functions that an entry point exports, with their documentation. */
export function exportedFunctions(entry: string): readonly ExportedValue[] {
  const text = readFileSync(entry, 'utf8')
  const own = [...text.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => ({
    name: name ?? '',
    file: entry,
  }))
  const reexported = [...text.matchAll(EXPORT_FROM)].flatMap(([, names, from]) =>
    (names ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => /^\w+$/.test(name))
      .map((name) => ({ name, file: join(dirname(entry), from ?? '').replace(/\.js$/, '.ts') })),
  )
  return [...own, ...reexported].flatMap(({ name, file }) => {
    const source = readFileSync(file, 'utf8')
    const declaration = declarationOf(source, name)
    return declaration === undefined ? [] : [{ name, file, doc: docBefore(source, declaration) }]
  })
}

/** The types of options that an entry point exports, with their documentation. */
export function exportedOptions(entry: string, folder: string): readonly ExportedValue[] {
  const names = [...readFileSync(entry, 'utf8').matchAll(/\b\w+Options\b(?=[^']*\} from ')/g)]
  return names.map(([name]) => {
    const declaration = new RegExp(`^export (?:interface|type) ${name}\\b`, 'm')
    const file = sourcesBelow(folder).find((path) => declaration.test(readFileSync(path, 'utf8')))
    const source = file === undefined ? '' : readFileSync(file, 'utf8')
    return { name, file: file ?? '', doc: docBefore(source, source.search(declaration)) }
  })
}

/** Where a function is declared; classes, and constants that are no functions, are not. */
function declarationOf(source: string, name: string): number | undefined {
  const pattern = `^export (?:async )?(?:function ${name}\\b|const ${name}\\b[^=]*=\\s*(?:async )?\\()`
  return new RegExp(pattern, 'm').exec(source)?.index
}

function docBefore(source: string, position: number): string {
  const last = [...source.slice(0, position).matchAll(DOC)].at(-1)
  if (last === undefined) return ''
  const isAdjacent = source.slice(last.index + last[0].length, position).trim() === ''
  return isAdjacent ? withoutAsterisks(last[1] ?? '') : ''
}

function sourcesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(folder, path))
    .toSorted()
}

function fencedIn(text: string): readonly { readonly code: string; readonly line: number }[] {
  return [...text.matchAll(FENCE)].map((match) => ({
    code: match[1] ?? '',
    line: text.slice(0, match.index).split('\n').length,
  }))
}

function withoutAsterisks(doc: string): string {
  return doc.replaceAll(/^ *\* ?/gm, '')
}
