/** Milliseconds between two alerts about one relayer, unless it was funded in between. */
export const ALERT_PAUSE_MS = 3_600_000

/** A relayer, and what it has in wei. */
export interface RelayerBalance {
  readonly chainId: number
  readonly relayer: string
  readonly balance: bigint
}
