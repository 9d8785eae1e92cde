/**
 * Model servers that misbehave in every way we know (docs/decisions/0015): each turn ends, nothing crashes,
 * and the amount read from a server is bounded.
 */
import { addMessage, createSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { alice, readLog, say, setStage } from '../turn/stage.ts'
import { type Protocol, startHostileServer, WAYS } from './hostile-model-server.ts'

const PROTOCOLS: Protocol[] = ['openai', 'anthropic']

/** Promise 7.11: A turn ends and the service continues, whatever the model server sends. */
test('whatever a model server sends, its turn ends, the log is sound, and the next session works', async () => {
  await using server = await startHostileServer(
    Object.fromEntries(Object.entries(WAYS).map(([name, { way }]) => [name, way])),
  )
  const all = Object.keys(WAYS).flatMap(name => PROTOCOLS.map(protocol => ({ name, protocol })))
  const times = rounds(1, 4)
  // The sample tries each way with one of the protocols, alternating.
  const cases = times > 1 ? all : all.filter((_, at) => at % 4 === 0 || at % 4 === 3)
  const providerOf = ({ name, protocol }: (typeof cases)[number]): string =>
    `${protocol}-${Object.keys(WAYS).indexOf(name)}`
  await using stage = await setStage({
    scenario: { rules: [{ answer: say('still here') }] },
    config: {
      models: {
        default: 'demo/model',
        providers: {
          demo: { kind: 'scripted' },
          ...Object.fromEntries(
            cases.map(one => [
              providerOf(one),
              { kind: one.protocol, base_url: server.baseUrl(one.name, one.protocol) },
            ]),
          ),
        },
      },
    },
    limits: { llm_retries: 1, llm_stale_s: 2, llm_call_s: 8, llm_heartbeat_s: 1 },
  })
  stage.start()

  const unexpected: string[] = []
  for (let round = 0; round < times; round++) {
    server.beginAnew()
    for (const one of cases) {
      const { due, most = Number.POSITIVE_INFINITY } = WAYS[one.name]!
      const { id } = await createSession(stage.deps, ['assistant'], {
        principal: alice,
        title: one.name,
        config: { model: `${providerOf(one)}/m`, max_iterations: 8 },
      })
      const before = server.sent(one.name, one.protocol)
      await addMessage(stage.deps, { session_id: id, content: 'go', principal: alice })
      const over = Promise.withResolvers<void>()
      const look = async (): Promise<void> => {
        const row = await stage.store.sessions.get(id)
        if (row?.status === 'completed' || row?.status === 'failed') over.resolve()
      }
      const unwatch = stage.store.events.watch(id, () => void look())
      await look()
      await over.promise
      unwatch()
      const events = await readLog(stage.store, id)
      const found = [
        ...checkHistory(events),
        ...events
          .filter(({ type }) => type === 'harness.crash')
          .map(event => `crash: ${JSON.stringify(event.data)}`),
        ...(due === 'either' ||
        events.some(({ type }) => type === `session.${due === 'ends' ? 'complete' : 'fail'}`)
          ? []
          : [`it does not come to what is due (${due}): ${JSON.stringify(events.at(-1)?.data)}`]),
        ...(server.sent(one.name, one.protocol) - before > 2 * most
          ? ['more was taken of it than may be']
          : []),
      ]
      for (const what of found) unexpected.push(`${one.name}, ${one.protocol}: ${what.slice(0, 300)}`)
    }
  }
  tally('model servers', times * cases.length, unexpected.length)
  expect(unexpected).toEqual([])

  await stage.send('are you there?')
  expect((await stage.next('session.complete')).data.reason).toBe('completed')
})
