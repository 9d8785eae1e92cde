/** The compatible APIs on Postgres: one process takes a request, another streams its answer. */
import Anthropic from '@anthropic-ai/sdk'
import { HttpAgent } from '@ag-ui/client'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { makePlace, startService } from './server.ts'

test('what one process accepts another one streams, with the same ids', async () => {
  const database = await makePostgresPlace()
  onTestFinished(database.remove)
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const shared = { ...place, env: { ...place.env, DATABASE_URL: database.place } }
  const [a, b] = [await startService(shared), await startService(shared)]
  const token = await localToken(place.dataDir)
  const openaiOf = ({ url }: { url: string }) =>
    new OpenAI({ apiKey: token, baseURL: `${url}/compat/openai/v1` })
  const asked = await openaiOf(a).responses.create({ model: 'assistant', input: 'run it' })
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request')
  const approved = await openaiOf(b).responses.create({
    previous_response_id: asked.id,
    input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true }],
  })
  expect(approved.output_text).toContain('It said')
  expect((await openaiOf(a).responses.retrieve(approved.id)).output).toEqual(
    (await openaiOf(b).responses.retrieve(approved.id)).output,
  )

  const sessionsOf = ({ url }: { url: string }) =>
    new Anthropic({ authToken: token, apiKey: null, baseURL: `${url}/compat/anthropic` }).beta.sessions
  const { id } = await sessionsOf(a).create({ agent: 'agent_assistant', environment_id: 'env_default' })
  const stream = await sessionsOf(a).events.stream(id)
  await sessionsOf(b).events.send(id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'hello' }] }],
  })
  const seen = []
  for await (const event of stream) {
    seen.push(event)
    if (event.type === 'session.status_idle') break
  }
  const listed = (await sessionsOf(b).events.list(id)).data
  expect(listed.slice(0, seen.length)).toEqual(seen)

  const agentOf = ({ url }: { url: string }, threadId: string, more: object = {}) =>
    new HttpAgent({
      url: `${url}/compat/ag-ui/assistant`,
      headers: { authorization: `Bearer ${token}` },
      threadId,
      ...more,
    })
  const agent = agentOf(a, 'thread')
  agent.addMessage({ id: 'm1', role: 'user', content: 'plan it' })
  await agent.runAgent({ runId: 'r1' })
  const page = agentOf(b, 'thread', { initialMessages: [{ id: 'm1', role: 'user', content: 'plan it' }] })
  await page.runAgent({ runId: 'r1' })
  expect(page.messages).toEqual(agent.messages)
})
