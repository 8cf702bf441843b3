/**
 * Ledgers that outlive the process: `express-x402-gateway/sql`.
 *
 * @packageDocumentation
 */
import './shared/http/check-node.js'
export type { Ledger } from './ledger/index.js'
export { postgresLedger, type PostgresPool } from './ledger/postgres-ledger.js'
export { sqliteLedger } from './ledger/sqlite-ledger.js'
