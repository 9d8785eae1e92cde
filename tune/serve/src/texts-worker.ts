/** The thread of texts.ts, with its own tokenizer. Answers one job after another. */
import { parentPort, workerData } from 'node:worker_threads'
import { InputError, loadTokenizer, parseExact } from '@cairn-tune/weights'
import { runTextJob, type ClonedJob, type TextJob, type TextResult, type TextSource } from './texts.ts'

const { directory, chatTemplate } = workerData as TextSource
const tokenizer = loadTokenizer(directory, chatTemplate)

const readJob = (job: ClonedJob): TextJob =>
  job.kind === 'render' ? { kind: 'render', ...(parseExact(job.json) as RenderJob) } : job

type RenderJob = Omit<Extract<TextJob, { kind: 'render' }>, 'kind'>

async function answer(job: ClonedJob): Promise<TextResult> {
  try {
    return { value: runTextJob(await tokenizer, readJob(job)) }
  } catch (error) {
    if (error instanceof InputError) return { refused: error.message }
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (job: ClonedJob) => {
  void answer(job).then(result => parentPort?.postMessage(result, []))
})
