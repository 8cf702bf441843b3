/** What the transfers of the token in hostile.sol do: its `behave` takes one of these. */
export const oddTokenModes = {
  fair: 0,
  /** A tenth goes elsewhere, by a transfer of its own. */
  fee: 1,
  /** Twice the amount, in two transfers. */
  twice: 2,
  /** No transfer, no log, and yet a yes. */
  nothing: 3,
  /** The log of a transfer that was none. */
  onlyLogs: 4,
  answersNo: 5,
  /** A transfer, and no answer, as of USDT on Ethereum. */
  answersNothing: 6,
  /** Nothing can be approved while something is, as of USDT on Ethereum. */
  approvesFromZero: 7,
} as const
