// A cluster of two workers, each with a gateway of its own.
import cluster from 'node:cluster'
import { createGateway } from 'express-x402-gateway'

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()]
  const warnings = []
  for (const worker of workers) worker.on('message', (message) => warnings.push(message))
  await Promise.all(workers.map((worker) => new Promise((end) => worker.on('exit', end))))
  process.send(warnings)
} else {
  const warned = []
  const logger = { debug() {}, info() {}, warn: (message) => warned.push(message), error() {} }
  for (let n = 0; n < 3; n++) await createGateway({ logger }).close()
  process.send(warned, () => process.exit())
}
