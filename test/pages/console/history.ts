/** A month of payments that the pictures show; tests pay for theirs. */
import { Database as DatabaseSync } from '../../support/sqlite.js'
import { bytesOf } from '../../../src/shared/protocol/hex.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import type { Count } from '../../../src/ledger/counts.js'

const DAY_MS = 86_400_000
const DAYS = 29

/** Writes payments of the days before today into an SQLite ledger. */
export async function writeHistory(
  file: string,
  ledger: Pick<LedgerStore, 'counts'>,
  { asset, project, payTo }: Readonly<Record<'asset' | 'project' | 'payTo', string>>,
): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS)
  const counts: Count[] = []
  const database = new DatabaseSync(file)
  const insert =
    database.prepare(`INSERT INTO x402_authorizations (chain_id, asset, payer, nonce, id,
    pay_to, value, valid_before, project, state, delivered, locked_until, transaction_hash, created_at,
    updated_at) VALUES (84532, ?, ?, ?, ?, ?, ?, '1', ?, 'settled', 1, 0, ?, ?, ?)`)
  database.exec('BEGIN')
  for (let ago = DAYS; ago > 0; ago--) {
    // A week has a rhythm, and business grows.
    const payments = Math.round((34 - ago) * (1 + 0.5 * Math.sin(ago * 0.9)) + 6)
    for (let index = 0; index < payments; index++) {
      const name = (ago * 1000 + index).toString(16).padStart(32, '0')
      const at = (today - ago) * DAY_MS + index * 60_000
      const hash = `0x${name}${name}`
      const value = String(10_000 * (1 + (index % 25)))
      const payer = `0x${name}${'0'.repeat(8)}`
      const [token, from, to, bytes] = [asset, payer, payTo, hash].map((hex) => bytesOf(hex as Hex))
      const id = bytes!.subarray(0, 16)
      insert.run(token!, from!, bytes!, id, to!, value, project, bytes!, at, at + 900)
    }
    counts.push(...countsOf(today - ago, payments))
  }
  database.exec('COMMIT')
  database.close()
  const all = counts.flatMap((one) => [one, { ...one, project }])
  await ledger.counts.addCounts(all)
}

function countsOf(day: number, payments: number): readonly Count[] {
  const count = (kind: string, label: string, times: number): Count => ({
    ...{ day, kind, label, project: '' },
    count: times,
  })
  const broke = Math.ceil(payments / 9)
  const late = Math.ceil(payments / 30)
  return [
    count('asked', '', payments * 3),
    count('presented', '', payments + broke + late),
    count('settled', '', payments),
    count('refused', 'insufficient_funds', broke),
    count('refused', 'quote_expired', late),
  ]
}
