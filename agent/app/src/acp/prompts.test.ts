/** Prompts of one session that overlap: each ends, no words are lost, and the newest one runs. */
import type { StopReason } from '@agentclientprotocol/sdk'
import { ApiError, type CairnClient, type ProblemDocument } from '@cairn/client'
import { expect, test } from 'vitest'
import { takePrompt } from './prompts.ts'

/** A service that writes down what it is asked; a turn runs until it is stopped or ends. */
function startService() {
  const log: string[] = []
  let stopTurn: (() => void) | null = null
  let failStop: Error | null = null
  const service = {
    call: (name: string) => {
      if (name !== 'stopSession') throw new Error(`unexpected call ${name}`)
      if (failStop !== null) return Promise.reject(failStop)
      log.push('stop')
      if (stopTurn === null)
        return Promise.reject(
          new ApiError({ title: 'Nothing runs', detail: '', status: 409 } as ProblemDocument),
        )
      stopTurn()
      return Promise.resolve({})
    },
  } as unknown as CairnClient
  const session: Parameters<typeof takePrompt>[1] = { id: 's', running: null }
  const ends = new Map<string, () => void>()
  /** `after`: the commit of its message. */
  const prompt = (text: string, signal = new AbortController().signal, after = Promise.resolve()) =>
    takePrompt(service, session, signal, async (over, onSent) => {
      await after
      log.push(text)
      const reason = Promise.withResolvers<StopReason>()
      stopTurn = () => reason.resolve('cancelled')
      ends.set(text, () => reason.resolve('end_turn'))
      over.addEventListener('abort', () => reason.resolve('cancelled'))
      onSent()
      try {
        return await reason.promise
      } finally {
        stopTurn = null
        log.push(`end of ${text}`)
      }
    })
  const began = (text: string) => expect.poll(() => log).toContain(text)
  return {
    log,
    session,
    prompt,
    ends,
    began,
    failStop: (error: Error) => void (failStop = error),
    rest: () => void (stopTurn = null),
  }
}

test('a second prompt replaces the first, which ends as cancelled before the second one runs', async () => {
  const { log, session, prompt, ends, began } = startService()
  const first = prompt('one')
  const second = prompt('two')
  expect(await first).toBe('cancelled')
  await began('two')
  ends.get('two')!()
  expect(await second).toBe('end_turn')
  expect(log).toEqual(['one', 'stop', 'end of one', 'two', 'end of two'])
  expect(session.running).toBeNull()
})

test('of three prompts the words of the second are in the session before it ends as cancelled', async () => {
  const { log, prompt, ends, began } = startService()
  const prompts = [prompt('one'), prompt('two'), prompt('three')]
  await began('three')
  ends.get('three')!()
  expect(await Promise.all(prompts)).toEqual(['cancelled', 'cancelled', 'end_turn'])
  expect(log.filter(line => !line.startsWith('end'))).toEqual(['one', 'stop', 'two', 'stop', 'three'])
})

test('a cancel that arrives after the next prompt means the turn before it', async () => {
  const { log, session, prompt, ends, began } = startService()
  const first = prompt('one')
  const second = prompt('two')
  await session.running!.cancel()
  expect(await first).toBe('cancelled')
  await began('two')
  ends.get('two')!()
  expect(await second).toBe('end_turn')
  expect(log.filter(line => line === 'stop')).toHaveLength(1)
})

test('a cancel while the message is being sent stops its turn after it was sent', async () => {
  const { log, session, prompt } = startService()
  const sending = Promise.withResolvers<void>()
  const first = prompt('one', undefined, sending.promise)
  const cancelled = session.running!.cancel()
  expect(log).toEqual([])
  sending.resolve()
  await cancelled
  expect(await first).toBe('cancelled')
  expect(log).toEqual(['one', 'stop', 'end of one'])
})

test('a prompt that is withdrawn before its turn is not sent, and the session is free again', async () => {
  const { log, session, prompt } = startService()
  const first = prompt('one')
  const withdrawn = new AbortController()
  const second = prompt('two', withdrawn.signal)
  withdrawn.abort()
  expect([await first, await second]).toEqual(['cancelled', 'cancelled'])
  expect(log).not.toContain('two')
  expect(session.running).toBeNull()
})

test('a prompt whose turn waits for a decision ends as cancelled although nothing can be stopped', async () => {
  const { prompt, ends, began, rest } = startService()
  const first = prompt('one')
  await began('one')
  rest()
  const second = prompt('two')
  expect(await first).toBe('cancelled')
  await began('two')
  ends.get('two')!()
  expect(await second).toBe('end_turn')
})

test('a stop that the service rejects is the error of the first prompt, and the second still runs', async () => {
  const { prompt, ends, began, failStop } = startService()
  failStop(new Error('the service is down'))
  const first = prompt('one')
  const second = prompt('two')
  await expect(first).rejects.toThrow('the service is down')
  await began('two')
  ends.get('two')!()
  expect(await second).toBe('end_turn')
})

test('a prompt whose message is rejected fails, and the next one runs', async () => {
  const { prompt, ends, began } = startService()
  const first = prompt('one', undefined, Promise.reject(new Error('too long')))
  const second = prompt('two')
  await expect(first).rejects.toThrow('too long')
  await began('two')
  ends.get('two')!()
  expect(await second).toBe('end_turn')
})
