// Builds what the paywall's page is made of: a script and a style sheet that are written into it, and
// public facts of chains, which wallets ask for when they add one.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import * as viemChains from 'viem/chains'
import { bundleScript, joinStyles, licensesOf } from './bundle-page.mjs'

const src = fileURLToPath(new URL('../src', import.meta.url))
const page = join(src, 'pages/paywall')

/** Packages of which the page contains code. */
const BUNDLED = ['preact', 'lean-qr']

/** Writes the files into a folder. */
export async function buildPaywall(folder) {
  await mkdir(folder, { recursive: true })
  const files = {
    'paywall.js': inline(await bundleScript(page)),
    'paywall.css': await joinStyles([join(page, 'paywall.css')]),
    'chains.json': JSON.stringify(await chainFacts()),
    'licenses.txt': await licensesOf(BUNDLED),
  }
  const written = Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text))
  await Promise.all(written)
}

/** Inside an element, a script must not contain what ends it. */
function inline(code) {
  return code.trim().replaceAll(/<(?=\/script|!--)/gi, '\\x3c')
}

/** By chain id: what `wallet_addEthereumChain` takes (EIP-3085), for the networks of our own table. */
async function chainFacts() {
  const { knownNetworks } = await importSource('shared/protocol/networks.ts')
  const rows = knownNetworks.flatMap(({ chainId, name: chainName }) => {
    // viem has some chains twice; the first is the one that is named after the chain.
    const chain = Object.values(viemChains).find(({ id }) => id === chainId)
    const rpcUrls = chain?.rpcUrls.default.http.filter((url) => url.startsWith('https:')) ?? []
    const explorer = chain?.blockExplorers?.default.url.replace(/\/$/, '')
    if (rpcUrls.length === 0 || !explorer?.startsWith('https:')) return []
    const { nativeCurrency } = chain
    return [[chainId, { chainName, nativeCurrency, rpcUrls, blockExplorerUrls: [explorer] }]]
  })
  return Object.fromEntries(rows)
}

/** Imports a file of the library that imports no other. */
async function importSource(name) {
  const { output } = await build({ input: join(src, name), write: false })
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
}
