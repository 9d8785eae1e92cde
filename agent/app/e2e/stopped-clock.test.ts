/**
 * A runner that is suspended for longer than its lease and then continues as if it still had it (contract 8).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { checkHistory } from '@cairn/verify'
import { expect, onTestFinished, test } from 'vitest'
import { makePlace, startServer } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const step = (n: number): object => ({
  name: 'terminal',
  arguments: { command: `echo {{user.1}}.${n} >> done.txt` },
})
const SCENARIO = {
  // A second or two each: the runner must be suspended while the answer is streaming.
  pace_ms: 150,
  chunk_chars: 10,
  rules: [
    {
      when: { user: '^job (\\S+)$' },
      steps: [
        {
          text: 'I begin with the first step and tell at length what I am about to do.',
          tool_calls: [step(1)],
        },
        {
          text: 'On with the second step, which takes as long to tell as the first one did.',
          tool_calls: [step(2)],
        },
        { text: 'Both steps are done.' },
      ],
    },
    { answer: { text: 'Nothing to do.' } },
  ],
}
/**
 * The event before the suspension: in the middle of an answer, just before a command, or just after its
 * start.
 */
const MOMENTS = ['llm.delta', 'llm.response', 'tool.call'] as const
const ATTEMPTS = 10

/** Promise 8: A runner suspended past its lease writes nothing more. */
test(
  'a runner suspended past its lease is replaced, and its later writes are rejected',
  { timeout: 10 * PATIENCE_MS },
  async () => {
    const database = await makePostgresPlace()
    onTestFinished(database.remove)
    const place = makePlace({ scenario: SCENARIO, config: { limits: { lease_s: 3 } } })
    const shared = { ...place, env: { ...place.env, DATABASE_URL: database.place } }
    const api = await startServer(shared, ['--role', 'api'])
    const workers = [
      await startServer(shared, ['--role', 'worker']),
      await startServer(shared, ['--role', 'worker']),
    ]
    const id = await newSession(api.client)
    /**
     * Whether the runner was suspended in time and therefore replaced. On a busy machine its turn may end
     * before.
     */
    async function isReplaced(moment: (typeof MOMENTS)[number], job: string): Promise<boolean> {
      const after = await say(api.client, id, `job ${job}`)
      await waitFor(api.client, id, after, isType(moment))
      const holder = (await readLog(api.client, id)).findLast(isType('harness.wake'))?.data.worker_id ?? ''
      const stopped = workers.find(({ pid }) => holder.includes(`-${pid}-`))
      if (stopped === undefined) throw new Error(`none of the workers is ${holder}`)
      const given = (): number => stopped.log().split('lease lost').length
      const before = given()
      process.kill(stopped.pid, 'SIGSTOP')
      const end = await waitFor(api.client, id, after, endsTurn).finally(() =>
        process.kill(stopped.pid, 'SIGCONT'),
      )
      expect(end.type).toBe('session.complete')
      if (
        !(await readLog(api.client, id)).some(event => event.type === 'harness.recovered' && event.id > after)
      )
        return false
      // The runner learns it from a rejected write or a notification. Either way it logs the loss and
      // continues as a runner.
      await expect.poll(given, { timeout: PATIENCE_MS }).toBeGreaterThan(before)
      expect(stopped.exited()).toBe(false)
      return true
    }
    for (const moment of MOMENTS) {
      let attempts = 0
      while (!(await isReplaced(moment, `${moment}-${attempts}`)))
        expect((attempts += 1), `none of the stops at ${moment} came before the turn was over`).toBeLessThan(
          ATTEMPTS,
        )
    }
    const log = await readLog(api.client, id)
    expect(checkHistory(log, { settled: true })).toEqual([])
    expect(log.map(event => event.id)).toEqual(log.map((_, at) => at + 1))
    const recovered = log.filter(isType('harness.recovered'))
    console.log(
      `${MOMENTS.length} workers stopped past their lease, ${recovered.length} taken over, ` +
        `${log.length} events`,
    )
    const file = join(place.workspaces, id, 'done.txt')
    const done = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    expect(new Set(done).size, 'no command ran twice').toBe(done.length)
    for (const worker of workers) expect(await worker.stop()).toBe(0)
  },
)
