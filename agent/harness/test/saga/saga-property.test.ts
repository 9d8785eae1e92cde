/**
 * Any saga, cut in any way, with runners that die anywhere: committed steps are undone latest first and at
 * most once, steps that cannot be undone are listed, and the rollback continues. Judged by what the outside
 * world saw, not only by the log.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { EventDraft, SessionEvent } from '@cairn/protocol'
import { pauseSession, stopSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Tool } from '../../src/tools/tool.ts'
import { dyingStore, type When } from '../turn/dying-store.ts'
import { setStage } from '../turn/stage.ts'

/**
 * `undone`: its undo works; `refused`: its undo fails; `broken`: its undo throws; `bare`: it has none;
 * `fails`: it does not take effect.
 */
const KINDS = ['undone', 'refused', 'broken', 'bare', 'fails'] as const
type Kind = (typeof KINDS)[number]
type Case = {
  steps: Kind[]
  /** Calls per answer of the model. */ width: number
  cut: 'pause' | 'stop' | 'fail'
  deaths: { during: 'work' | 'rollback'; at: number; when: When }[]
}

const cases: fc.Arbitrary<Case> = fc.record({
  steps: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 6 }),
  width: fc.integer({ min: 1, max: 3 }),
  cut: fc.constantFrom('pause', 'stop', 'fail'),
  // An undo has a start and an end: two commits per step.
  deaths: fc.array(
    fc.record({
      during: fc.constantFrom('work', 'rollback', 'rollback'),
      at: fc.nat({ max: 7 }),
      when: fc.constantFrom('before', 'after'),
    }),
    { maxLength: 3 },
  ),
})

/** The outside world: what was done and undone, in order. */
function worldTools(
  world: string[],
  undoOf: (kind: Kind) => string | undefined,
): { tools: Tool[]; undo: Record<string, { tool: string; args: Record<string, unknown> }> } {
  const base = {
    description: 'acts',
    parameters: z.record(z.string(), z.unknown()),
    readOnly: false,
    idempotent: false,
  }
  const tools = KINDS.flatMap((kind): Tool[] => [
    {
      ...base,
      name: `do_${kind}`,
      run: ({ n }) => {
        world.push(`${kind} ${String(n)}`)
        return Promise.resolve({ content: kind === 'fails' ? { error: 'it did not work' } : { n } })
      },
    },
    {
      ...base,
      name: `undo_${kind}`,
      run: ({ n }) => {
        world.push(`undo ${kind} ${String(n)}`)
        if (kind === 'broken') throw new Error('the undo broke')
        return Promise.resolve({ content: kind === 'refused' ? { error: 'it is too late' } : 'undone' })
      },
    },
  ])
  return {
    tools,
    undo: Object.fromEntries(
      KINDS.flatMap(kind =>
        undoOf(kind) === undefined
          ? []
          : [[`do_${kind}`, { tool: `undo_${kind}`, args: { n: '{{result.n}}' } }]],
      ),
    ),
  }
}

const isOfRollback = ({ type, data }: EventDraft): boolean =>
  type === 'saga.compensate' ||
  (type.startsWith('saga.step_') &&
    ['compensating', 'compensated', 'compensation_failed'].includes(
      String((data as { state?: unknown }).state),
    ))

async function live({
  steps,
  width,
  cut,
  deaths,
}: Case): Promise<{ world: string[]; events: SessionEvent[]; problems: string[] }> {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-saga-'))
  const store = await openStoreInProcess({
    dir,
    now: () => Date.now() + late.ms,
    monotonic: () => performance.now() + late.ms,
  })
  const world: string[] = []
  const { tools, undo } = worldTools(world, kind => (kind === 'bare' ? undefined : kind))
  const calls = steps.map((kind, n) => ({ name: `do_${kind}`, arguments: { n } }))
  const answers = Array.from({ length: Math.ceil(calls.length / width) }, (_, at) => ({
    tool_calls: calls.slice(at * width, (at + 1) * width),
  }))
  const last =
    cut === 'fail'
      ? { error: { status: 400, message: 'no more' } }
      : { tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Go on?' }] } }] }
  try {
    await using stage = await setStage({
      scenario: { rules: [{ steps: [...answers, last] }] },
      tools,
      agent: { saga: { enabled: true, undo } },
      store,
    })
    await stage.send('go')
    const over = Promise.withResolvers<void>()
    const workers = (async () => {
      for (const { during, at, when } of [
        ...deaths,
        { during: 'work', at: Number.POSITIVE_INFINITY, when: 'before' as const },
      ]) {
        const dying = dyingStore(
          store,
          at,
          when,
          commit => during === 'work' || commit.events.some(isOfRollback),
        )
        const worker = stage.start({ store: dying.store })
        await Promise.race([dying.died, over.promise])
        await worker.idle()
        late.ms += 61_000
      }
    })()
    if (cut !== 'fail') {
      await stage.next('inbox.input_required')
      await (cut === 'pause' ? pauseSession : stopSession)(stage.deps, stage.session_id)
    }
    await stage.next('saga.complete')
    over.resolve()
    await workers
    return { world, events: await stage.events(), problems: await store.check() }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Promise 14.8: Any saga is undone in reverse, each step at most once, with its failures listed. */
test(
  'property: wherever runners die, a saga is undone in reverse, each step once, and failures are listed',
  { timeout: 600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(cases, async one => {
        const { world, events, problems } = await live(one)
        expect(checkHistory(events)).toEqual([])
        expect(problems).toEqual([])

        const done = world.filter(what => !what.startsWith('undo '))
        const undone = world.filter(what => what.startsWith('undo ')).map(what => what.slice('undo '.length))
        expect(done, 'nothing is done twice').toEqual([...new Set(done)])
        expect(undone, 'nothing is undone twice').toEqual([...new Set(undone)])
        // The undos ran latest first, and each undoes something that was done.
        expect(undone).toEqual(done.filter(what => undone.includes(what)).toReversed())
        expect(undone.filter(what => what.startsWith('fails') || what.startsWith('bare'))).toEqual([])

        const states = new Map<string, string>()
        const order: string[] = []
        for (const event of events) {
          if (
            event.type !== 'saga.step_begin' &&
            event.type !== 'saga.step_committed' &&
            event.type !== 'saga.step_failed'
          )
            continue
          if (event.data.state === 'committed') order.push(event.data.step_id)
          states.set(event.data.step_id, event.data.state)
        }
        const [report, ...more] = events.filter(event => event.type === 'saga.compensate')
        expect(more).toEqual([])
        const inReverse = (state: string) => order.filter(id => states.get(id) === state).toReversed()
        expect(report?.data.steps_rolled_back).toEqual(inReverse('compensated'))
        expect(report?.data.failed_steps ?? []).toEqual(inReverse('compensation_failed'))
        // Every step that took effect is one or the other: none is skipped.
        expect(inReverse('compensated').length + inReverse('compensation_failed').length).toBe(order.length)
        // Without a death, exactly the steps whose undo works are undone, and all others are listed.
        if (one.deaths.length === 0) {
          expect(inReverse('compensated')).toHaveLength(one.steps.filter(kind => kind === 'undone').length)
          expect(inReverse('compensation_failed')).toHaveLength(
            one.steps.filter(kind => kind === 'refused' || kind === 'broken' || kind === 'bare').length,
          )
        }
        expect(
          events.filter(event => event.type === 'saga.complete').map(event => event.data.status),
        ).toEqual([inReverse('compensation_failed').length > 0 ? 'escalated' : 'compensated'])
      }),
      { numRuns: 20 },
    )
  },
)
