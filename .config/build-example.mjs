// Builds the page of the example app: one script, and the files beside it.
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'example-app/page')
const dir = join(root, 'dist/example/page')

await mkdir(dir, { recursive: true })
for (const name of ['index.html', 'shop.css']) await cp(join(page, name), join(dir, name))
await build({
  input: { shop: join(page, 'main.ts') },
  platform: 'browser',
  tsconfig: join(page, 'tsconfig.json'),
  transform: { target: 'es2022' },
  output: { dir, format: 'esm', minify: true, entryFileNames: '[name].js' },
})
