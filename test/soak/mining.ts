import { setTimeout as sleep } from 'node:timers/promises'
import { type Devnet, startDevnet } from '../../src/tools/devnet/index.js'

/** Seconds after which anvil would mine by itself: long after everything is over. */
const NEVER = 86_400

/** A chain whose blocks are mined from here. */
export interface MinedDevnet extends Devnet {
  /**
   * Does something while no block is mined.
   *
   * Anvil does not keep a block that it mines apart from a reorganisation at the same time: blocks
   * are missing then, transactions are in two of them, and balances are not what was transferred.
   */
  betweenBlocks<T>(work: () => Promise<T>): Promise<T>
}

/** Starts a chain, and mines a block every so many milliseconds. */
export async function startMining(blockMs: number): Promise<MinedDevnet> {
  const devnet = await startDevnet({ blockTime: NEVER })
  let last: Promise<unknown> = Promise.resolve()
  const closing = new AbortController()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }
  const mine = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await inTurn(() => devnet.mine())
      await sleep(blockMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  const mining = mine()
  // It is waited for in the end; until then nobody listens.
  mining.catch(() => undefined)
  return {
    ...devnet,
    betweenBlocks: inTurn,
    async close() {
      closing.abort()
      try {
        await mining
      } finally {
        await devnet.close()
      }
    },
  }
}
