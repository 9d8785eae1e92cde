/** The entry point of the writer's thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { runWriter } from './run-writer.ts'
import type { WriterStart } from '../engine/writer-messages.ts'

if (parentPort === null) throw new Error('[writer-thread] must be started as a worker')
runWriter(parentPort, workerData as WriterStart)
