import type { Devnet } from '../devnet/index.js'
import { openDevnet } from '../devnet/start-devnet.js'

/** The chain of this process while shops use it. */
let running: { readonly started: Promise<Devnet>; users: number } | undefined

export interface ChainUse {
  readonly devnet: Devnet
  /** Ends the use; the last one stops the chain. May be called again. */
  release(): Promise<void>
}

/** Starts the chain, or joins shops that use it already. Users must not share accounts. */
export async function useChain(): Promise<ChainUse> {
  const chain = (running ??= { started: start(), users: 0 })
  chain.users += 1
  let isReleased = false
  const release = async (): Promise<void> => {
    if (isReleased) return
    isReleased = true
    chain.users -= 1
    if (chain.users > 0) return
    if (running === chain) running = undefined
    await (await chain.started).close()
  }
  try {
    return { devnet: await chain.started, release }
  } catch (error) {
    if (running === chain) running = undefined
    throw error
  }
}

/** Starts a chain that does not keep this process up: each open shop does, for a while. */
async function start(): Promise<Devnet> {
  const { devnet, unref } = await openDevnet({})
  unref()
  return devnet
}
