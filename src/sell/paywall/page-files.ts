/** The page's files from the build: script, style sheet, and public facts of chains. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownPackage } from '../../shared/http/own-package.cjs'

/** Public facts of a chain for wallets (EIP-3085). */
export interface ChainFacts {
  readonly chainName: string
  readonly nativeCurrency: {
    readonly name: string
    readonly symbol: string
    readonly decimals: number
  }
  readonly rpcUrls: readonly string[]
  /** Absent if there is none: wallets refuse an empty list. */
  readonly blockExplorerUrls?: readonly string[]
}

export interface PageFiles {
  readonly script: string
  readonly style: string
  /** By chain id. */
  readonly chains: Readonly<Record<string, ChainFacts>>
}

let files: PageFiles | 'missing' | undefined

/** Reads the files once; `undefined` in a bundle and in a checkout that was not built. */
export function pageFiles(): PageFiles | undefined {
  files ??= readFiles() ?? 'missing'
  return files === 'missing' ? undefined : files
}

function readFiles(): PageFiles | undefined {
  if (ownPackage.folder === undefined) return undefined
  const folder = join(ownPackage.folder, 'dist', 'paywall')
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  try {
    return {
      script: read('paywall.js'),
      style: read('paywall.css'),
      chains: JSON.parse(read('chains.json')) as PageFiles['chains'],
    }
  } catch {
    return undefined
  }
}
