import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { runInProcess } from '../src/threads/run-in-process.ts'

const script = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
const limits = (timeLimitMs = 60_000) => ({ timeLimitMs, signal: new AbortController().signal })
const ENDLESS = 'for (;;) {}'

test('the job arrives complete, and posted results come back in order', async () => {
  const posted: unknown[] = []
  const echo = script(
    `import { parentPort, workerData } from 'node:worker_threads'
     parentPort.postMessage(workerData.bytes)
     parentPort.postMessage('last')`,
  )
  const ended = await runInProcess(echo, { bytes: new Uint8Array([1, 2]) }, limits(), message => {
    posted.push(message)
    return message === 'last'
  })
  expect(ended).toBe('done')
  expect(posted).toEqual([new Uint8Array([1, 2]), 'last'])
})

test('work that allocates faster than a thread can be stopped fails alone', async () => {
  // One array that doubles: V8 aborts at the first allocation that does not fit.
  const greedy = script('let all = ["x"]; for (;;) all = [...all, ...all.map(x => ({ x }))]')
  await expect(runInProcess(greedy, null, limits(), () => true)).rejects.toThrow(
    /more than 256 MB of memory|memory limit|without an answer/,
  )
})

test('an error of the work is reported, and endless work is stopped at its time limit', async () => {
  await expect(
    runInProcess(script('throw new Error("no such part")'), null, limits(), () => true),
  ).rejects.toThrow('no such part')
  expect(await runInProcess(script(ENDLESS), null, limits(300), () => true)).toBe('too slow')
})

test('the process exits when the service is gone, even during work', async () => {
  const host = fork(new URL('../src/threads/process-host.ts', import.meta.url), {
    serialization: 'advanced',
    execArgv: [],
  })
  const working = script(
    `import { parentPort } from 'node:worker_threads'; parentPort.postMessage(1); ${ENDLESS}`,
  )
  host.send({ script: working.href, job: null, memoryMb: 256 })
  expect(await once(host, 'message')).toEqual([{ posted: 1 }, undefined])
  host.disconnect()
  expect(await once(host, 'exit')).toEqual([0, null])
})
