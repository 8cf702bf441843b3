/** Draws what `npm run example -- --once` prints: example-app/docs/terminal.svg. Part of `npm run screenshots`. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './documents.js'

const FONT_SIZE = 13
const LINE_HEIGHT = 19
/** Width of a character of the font, as a part of its size. */
const ADVANCE = 0.602
const MARGIN = 18

const COLORS: ReadonlyArray<readonly [RegExp, string]> = [
  [/^← [45]/, '#f0b429'],
  [/^← /, '#3fb950'],
  [/^[→✎$]/, '#58a6ff'],
]
const PLAIN = '#c9d1d9'

/** Draws lines of text as a terminal shows them. */
function draw(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => line.length))
  const width = Math.ceil(columns * FONT_SIZE * ADVANCE + 2 * MARGIN)
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN
  const texts = lines.map((line, index) => {
    const color = COLORS.find(([pattern]) => pattern.test(line))?.[1] ?? PLAIN
    const y = MARGIN + (index + 0.75) * LINE_HEIGHT
    return `<text x="${MARGIN}" y="${y}" fill="${color}">${escapeXml(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="${FONT_SIZE}">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.filter((text) => !text.includes('></text>')).join('\n')}
</svg>
`
}

const escapeXml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    // SVG would draw several spaces as one.
    .replaceAll(' ', '&#160;')

const example = ['dist/example/main.js', '--once']
const { stdout } = await promisify(execFile)(process.execPath, example, { cwd: ROOT })
const lines = ['$ npm run example -- --once', '', ...stdout.trimEnd().split('\n')]
await writeFile(join(ROOT, 'example-app/docs/terminal.svg'), draw(lines))
