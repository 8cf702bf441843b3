/** Milliseconds between two alerts about one relayer, unless it was funded in between. */
export const ALERT_PAUSE_MS = 3_600_000

/** A relayer, and what it has in wei. */
export interface RelayerBalance {
  readonly chainId: number
  readonly relayer: string
  readonly balance: bigint
}

/** Alerts to the operator about low relayers: each is sent once by all processes that share the ledger. */
export interface RelayerAlertStore {
  /**
   * Adds an event `relayer.low` for each endpoint of the operator that wants it, unless one was added in
   * the last {@link ALERT_PAUSE_MS}.
   *
   * @param data - What the event says.
   * @returns Whether there was one to add.
   */
  tellLow(low: RelayerBalance, data: object): Promise<boolean>
  /** Notes that a relayer has more than at its last alert: when it is low again, an alert is sent at once. */
  noteFunded(funded: RelayerBalance): Promise<void>
}
