/** Runs a check off the event loop: on a large store it takes seconds. */
import { parentPort, workerData } from 'node:worker_threads'
import { checkStore } from './check.ts'
import { openDb } from './adapter.ts'

const db = openDb(String(workerData), { readOnly: true })
parentPort?.postMessage(checkStore(db), [])
db.close()
