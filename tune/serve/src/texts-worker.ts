/** The thread of texts.ts, with its own tokenizer. Answers one job after another. */
import { parentPort, workerData } from 'node:worker_threads'
import { InputError, loadTokenizer } from '@cairn-tune/weights'
import { runTextJob, type TextJob, type TextResult, type TextSource } from './texts.ts'

const { directory, chatTemplate } = workerData as TextSource
const tokenizer = loadTokenizer(directory, chatTemplate)

async function answer(job: TextJob): Promise<TextResult> {
  try {
    return { value: runTextJob(await tokenizer, job) }
  } catch (error) {
    if (error instanceof InputError) return { refused: error.message }
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (job: TextJob) => {
  void answer(job).then(result => parentPort?.postMessage(result, []))
})
