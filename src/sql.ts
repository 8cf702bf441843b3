/**
 * Ledgers that outlive the process: `express-x402-gateway/sql`.
 *
 * @packageDocumentation
 */
export type { Ledger } from './ledger/ledger.js'
export { postgresLedger, type PostgresPool } from './ledger/sql/postgres-ledger.js'
export { sqliteLedger } from './ledger/sql/sqlite-ledger.js'
