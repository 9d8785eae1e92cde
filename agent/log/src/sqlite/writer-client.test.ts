import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startWriter } from './writer-client.ts'
import { readRequests, type Request, type RequestsText } from '../engine/writer-messages.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cairn-writer-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(dir, { recursive: true, force: true })
})

const quiet = { landed: () => undefined, report: () => undefined }
function makeFile(): string {
  const path = join(dir, 'log.db')
  closeSync(openSync(path, 'a'))
  return path
}

const markRead = (item: unknown): Request => ({
  do: 'call',
  resource: 'inbox',
  method: 'markRead',
  at: 1,
  args: [item],
})

test('at most two messages to the writer are unanswered, and later requests share one message', async () => {
  /** Requests posted so far, at the end of each message. */
  const ends: number[] = []
  const unanswered: number[] = []
  const landed: string[] = []
  const post = Worker.prototype.postMessage
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, text: unknown) {
    ends.push((ends.at(-1) ?? 0) + readRequests(text as RequestsText).length)
    unanswered.push(ends.filter(end => end > landed.length).length)
    post.call(this, text, [])
  })
  const writer = await startWriter(
    { dir, path: makeFile(), now: 0 },
    {
      landed: request => void (request.do === 'call' && landed.push(String(request.args[0]))),
      report: () => undefined,
    },
  )
  const asked: Promise<unknown>[] = []
  for (let turn = 0; turn < 200; turn++) {
    asked.push(writer.ask(markRead(`item ${turn}`)))
    // A separate turn of the event loop, each of which could be a message.
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(asked)
  expect(landed, 'in the order they were asked for').toEqual(asked.map((_, turn) => `item ${turn}`))
  expect(ends.at(-1)).toBe(200)
  expect(Math.max(...unanswered)).toBeLessThanOrEqual(2)
  await writer.close()
})

test('a request that cannot be encoded as JSON fails alone', async () => {
  const writer = await startWriter({ dir, path: makeFile(), now: 0 }, quiet)
  const good = writer.ask(markRead('none'))
  await expect(writer.ask(markRead(1n))).rejects.toThrow('BigInt')
  expect(await good).toEqual({ value: null })
  await writer.close()
})

test('deferrable requests are written after later ones, in batches of 256, and the close comes last', async () => {
  const posted: string[][] = []
  const post = Worker.prototype.postMessage
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, text: unknown) {
    posted.push(readRequests(text as RequestsText).map(request => request.do))
    post.call(this, text, [])
  })
  const writer = await startWriter({ dir, path: makeFile(), now: 0 }, quiet)
  const chunk: Request = { do: 'commit', at: 1, session_id: 'none', events: [], can_wait: true }
  const chunks = Array.from({ length: 300 }, () => writer.ask(chunk).catch(() => 'refused'))
  const marks = Array.from({ length: 10 }, () => writer.ask(markRead('none')))
  const closed = writer.close()
  expect(await Promise.all(chunks)).toEqual(chunks.map(() => 'refused'))
  await Promise.all([...marks, closed])
  const some = (what: string, count: number): string[] => Array.from({ length: count }, () => what)
  expect(posted).toEqual([
    [...some('call', 10), ...some('commit', 246)],
    [...some('commit', 54), 'close'],
  ])
})

test('a writer whose thread has died rejects requests, and closes', async () => {
  const posts = vi.spyOn(Worker.prototype, 'postMessage')
  const writer = await startWriter({ dir, path: makeFile(), now: 0 }, quiet)
  await writer.ask(markRead('none'))
  await (posts.mock.contexts[0] as Worker).terminate()
  await expect(writer.ask(markRead('none'))).rejects.toThrow('the store is closed')
  await writer.close()
})
