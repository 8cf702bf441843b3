/** Milliseconds in which the operator is told of a relayer once, unless it was funded meanwhile. */
export const ALERT_PAUSE_MS = 3_600_000

/** A relayer, and what it has in wei. */
export interface RelayerBalance {
  readonly chainId: number
  readonly relayer: string
  readonly balance: bigint
}

/** What the operator is told of relayers, once for all processes that share the ledger. */
export interface RelayerAlertStore {
  /**
   * Adds an event `relayer.low` for each endpoint of the operator that wants it, unless one was added in
   * the last {@link ALERT_PAUSE_MS}.
   *
   * @param data - What the event says.
   * @returns Whether there was one to add.
   */
  tellLow(low: RelayerBalance, data: object): Promise<boolean>
  /** Notes that a relayer has more than when the operator was told: when it is low again, he is told at once. */
  noteFunded(funded: RelayerBalance): Promise<void>
}
