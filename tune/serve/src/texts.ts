/**
 * Converts text to tokens, tokens to text, and conversations to text, without delaying other requests. Short
 * texts are processed at once; others by another thread, one job at a time, because tokenising cannot yield
 * and needs up to 20 µs a character. A request waits for each of its texts before it submits the next one, so
 * requests take turns.
 */
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import {
  InputError,
  exactJson,
  type Chat,
  type ChatTemplates,
  type ModelTokenizer,
  type RenderOptions,
} from '@cairn-tune/weights'
import { moduleBeside } from '@cairn/tooling/beside'
import { ApiError, badRequest } from './errors.ts'

export type Texts = {
  readonly hasTemplate: boolean
  /** Throws a client error if a text takes too long. */
  encode(text: string, options: { isDocument: boolean }): Promise<readonly number[]>
  decode(ids: readonly number[]): Promise<string>
  /** Throws an InputError if the template rejects the conversation. */
  render(chat: Chat, options: RenderOptions): Promise<string>
  close(): Promise<void>
}

export type TextJob =
  | { kind: 'encode'; text: string; isDocument: boolean }
  | { kind: 'decode'; ids: readonly number[] }
  | { kind: 'render'; chat: Chat; options: RenderOptions }
/** A job as it reaches the thread. Numbers that keep their text would lose their class without JSON. */
export type ClonedJob = Exclude<TextJob, { kind: 'render' }> | { kind: 'render'; json: string }
export type TextSource = { directory: string; chatTemplate: string | ChatTemplates | undefined }
/** The thread's answer. `refused` is the message of an InputError. */
export type TextResult = { value: readonly number[] | string } | { refused: string } | { failed: string }

/** Maximum characters processed at once, about 80 ms. A token id counts as four. */
const MAX_AT_ONCE = 4096
/** A text of the maximum length takes 20 s; a template may also never end. */
const MAX_JOB_MS = 60_000

type Tokenizer = Pick<ModelTokenizer, 'chat' | 'encodeDocument' | 'decode'> & {
  encode: (text: string) => number[]
}

export function runTextJob(tokenizer: Tokenizer, job: TextJob): readonly number[] | string {
  switch (job.kind) {
    case 'encode':
      return (job.isDocument ? tokenizer.encodeDocument : tokenizer.encode)(job.text)
    case 'decode':
      return tokenizer.decode(job.ids)
    case 'render':
      if (!tokenizer.chat) throw new InputError('the model has no chat template')
      return tokenizer.chat.render(job.chat, job.options)
  }
}

const sizeOf = (job: TextJob): number =>
  job.kind === 'encode'
    ? job.text.length
    : job.kind === 'decode'
      ? 4 * job.ids.length
      : JSON.stringify([job.chat, job.options]).length

/** Processes everything in this thread, for programs that serve no other requests. */
export const textsOf = (tokenizer: Tokenizer): Texts =>
  textsBy(
    tokenizer,
    async job => runTextJob(tokenizer, job),
    async () => undefined,
  )

function textsBy(
  tokenizer: Tokenizer,
  run: (job: TextJob) => Promise<readonly number[] | string>,
  close: () => Promise<void>,
): Texts {
  return {
    hasTemplate: tokenizer.chat !== undefined,
    encode: async (text, { isDocument }) =>
      (await run({ kind: 'encode', text, isDocument })) as readonly number[],
    decode: async ids => (await run({ kind: 'decode', ids })) as string,
    render: async (chat, options) => (await run({ kind: 'render', chat, options })) as string,
    close,
  }
}

/** `maxAtOnce` and `maxJobMs` are for tests. */
export function createTexts(
  tokenizer: Tokenizer,
  source: TextSource,
  { maxBytesPerSlice = MAX_AT_ONCE, maxJobMs = MAX_JOB_MS } = {},
): Texts {
  const thread = createThread(source, maxJobMs)
  let sinceYield = 0

  async function run(job: TextJob): Promise<readonly number[] | string> {
    const size = sizeOf(job)
    if (size > maxBytesPerSlice) return await thread.run(cloneable(job))
    sinceYield += size
    if (sinceYield > maxBytesPerSlice) {
      sinceYield = size
      await setImmediate()
    }
    return runTextJob(tokenizer, job)
  }
  return textsBy(tokenizer, run, thread.close)
}

const cloneable = (job: TextJob): ClonedJob =>
  job.kind === 'render' ? { kind: 'render', json: exactJson({ chat: job.chat, options: job.options }) } : job

type QueuedJob = {
  job: ClonedJob
  resolve: (value: readonly number[] | string) => void
  reject: (error: Error) => void
}

/** A thread started for the first job, and restarted after a job that it did not survive. */
function createThread(
  source: TextSource,
  maxJobMs: number,
): { run: (job: ClonedJob) => Promise<readonly number[] | string>; close: () => Promise<void> } {
  const queue: QueuedJob[] = []
  let worker: Worker | undefined
  let isBusy = false
  let isClosed = false
  const closing = () => new ApiError(503, 'ServiceUnavailableError', 'the server is shutting down')
  const tooLong = ({ kind }: ClonedJob) =>
    badRequest(
      `Your text takes more than ${maxJobMs / 1000} s or too much memory to ${kind}; send a shorter one.`,
    )
  /** Receives the answer to the current job. Undefined if the thread did not survive it. */
  let settle: (result: TextResult | undefined) => void = () => undefined

  function start(): Worker {
    const started = new Worker(moduleBeside(import.meta, './texts-worker'), { workerData: source })
    started.on('message', (result: TextResult) => settle(result))
    // Both events also arrive after the thread was replaced. Then they do not concern the current job.
    const lose = () => {
      if (worker === started) settle(undefined)
    }
    started.on('error', lose).on('exit', lose)
    return started
  }

  async function stop(): Promise<void> {
    settle(undefined)
    const stopped = worker
    worker = undefined
    await stopped?.terminate()
  }

  async function resultOf(job: ClonedJob): Promise<TextResult | undefined> {
    worker ??= start()
    const { promise, resolve } = Promise.withResolvers<TextResult | undefined>()
    settle = resolve
    const timer = setTimeout(() => resolve(undefined), maxJobMs)
    // An idle thread does not keep the process alive.
    worker.ref()
    worker.postMessage(job, [])
    const result = await promise
    clearTimeout(timer)
    worker?.unref()
    return result
  }

  async function work(): Promise<void> {
    isBusy = true
    for (let next = queue.shift(); next; next = queue.shift()) {
      const result = await resultOf(next.job)
      if (!result) {
        await stop()
        next.reject(isClosed ? closing() : tooLong(next.job))
      } else if ('value' in result) next.resolve(result.value)
      else next.reject('refused' in result ? new InputError(result.refused) : new Error(result.failed))
    }
    isBusy = false
  }

  return {
    run(job) {
      if (isClosed) return Promise.reject(closing())
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[] | string>()
      queue.push({ job, resolve, reject })
      if (!isBusy) void work()
      return promise
    },
    async close() {
      isClosed = true
      for (const { reject } of queue.splice(0)) reject(closing())
      await stop()
    },
  }
}
