/** Contract 14.5: research over the API. The tests of the harness cover branches and reports. */
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'

const rubric = { type: 'text', content: 'Where, how high and why.' }
const asked = { description: 'How high do tides rise?', rubric }
const metric = { command: 'cat value.txt', direction: 'max' }
const post = (service: Service, body: unknown) => service.call('/v1/missions', { method: 'POST', body })

test('a research mission returns its settings, branches and sources', async () => {
  await using service = await startService({ config: { research: { warn: 2, shift: 4, stop: 6 } } })
  const made = await post(service, { ...asked, research: {} })
  expect([made.status, made.json.kind]).toEqual([201, 'research'])
  const { mission_id, session_id } = made.json
  const shown = await service.call(`/v1/missions/${mission_id}/research`)
  expect(shown.json).toEqual({
    run: {
      run_id: mission_id,
      mission_id,
      session_id,
      mode: 'report',
      max_branches: 24,
      max_parallel: 6,
      improve_at: 40,
      min_delta: 0,
      levels: { warn: 2, shift: 4, stop: 6 },
      best_score: null,
      consecutive_non_improving: 0,
      level: null,
      report: null,
    },
    branches: [],
    sources: [],
  })
  const { json } = await service.call(`/v1/sessions/${session_id}/events/poll`)
  const types = json.events.map((event: { type: string }) => event.type)
  expect(types.slice(0, 3)).toEqual(['mission.defined', 'research.defined', 'user.message'])
  const plain = await post(service, asked)
  const none = await service.call(`/v1/missions/${plain.json.mission_id}/research`)
  expect([none.status, none.json.detail]).toEqual([404, expect.stringContaining('is not a research mission')])
})

/** Promise 4.7: An impossible research request returns a problem document that names the fix. */
test('an impossible research request returns a problem document with the fix', async () => {
  await using service = await startService({
    config: {
      agents: {
        assistant: {},
        alone: { workers: { enabled: false } },
        offline: { governance: { denied_tools: ['web_*'] } },
        bound: { tools: ['web_fetch'] },
      },
    },
  })
  const refused = async (research: unknown, agent = 'assistant'): Promise<string> => {
    const { status, json } = await post(service, { ...asked, agent, research })
    expect([status, json.code]).toEqual([422, 'invalid_body'])
    return json.detail as string
  }
  expect(await refused({ mode: 'metric' })).toContain('"command": "./score.sh"')
  expect(await refused({ metric })).toContain('is required in mode metric and allowed only there')
  expect(await refused({ mode: 'metric', metric: { ...metric, direction: 'up' } })).toContain(
    'research.metric.direction',
  )
  expect(await refused({ mode: 'metric', metric: { ...metric, timeout_s: 6000 } })).toContain(
    'research.metric.timeout_s',
  )
  expect(await refused({ max_branches: 0 })).toContain('research.max_branches')
  expect(await refused({ branches: 3 })).toContain('branches')
  expect(await refused({}, 'alone')).toContain('workers.enabled')
  expect(await refused({}, 'offline')).toContain('mode report needs the tool web_fetch')
  expect(await refused({ mode: 'metric', metric }, 'bound')).toContain('mode metric needs the tool terminal')
  expect((await service.call('/v1/missions')).json.missions).toEqual([])
})
