/**
 * Each API's own client requests what Cairn does not support, and reports an error in the form of that API
 * which names it.
 */
import { randomUUID } from 'node:crypto'
import { HttpAgent, type Message as AgUiMessage, type RunAgentParameters } from '@ag-ui/client'
import Anthropic from '@anthropic-ai/sdk'
import type { Message as A2aMessage } from '@a2a-js/sdk'
import { openChat, type UIMessage } from '@cairn/compat/test/chat-client'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { A2A_CONFIG, message, openA2a, request, text } from './a2a-client.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { openClient } from './mcp-client.ts'
import { makePlace, startService } from './server.ts'

async function start(): Promise<{ url: string; token: string }> {
  const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, ...A2A_CONFIG } })
  const { url } = await startService(place)
  return { url, token: await localToken(place.dataDir) }
}

test('OpenAI: other resources, models and parameters', async () => {
  const { url, token } = await start()
  const openai = new OpenAI({ apiKey: token, baseURL: `${url}/compat/openai/v1`, maxRetries: 0 })
  const unknown = { status: 404, code: 'unknown_url', type: 'invalid_request_error' }
  const input = { model: 'assistant', input: 'x' }
  await expect(openai.embeddings.create(input)).rejects.toMatchObject({
    ...unknown,
    message: expect.stringContaining('embeddings'),
  })
  await expect(openai.chat.completions.create({ model: 'assistant', messages: [] })).rejects.toMatchObject(
    unknown,
  )
  await expect(openai.files.list()).rejects.toMatchObject(unknown)
  await expect(openai.vectorStores.create({ name: 'x' })).rejects.toMatchObject(unknown)
  await expect(openai.batches.list()).rejects.toMatchObject(unknown)
  await expect(openai.responses.compact({ model: 'assistant', input: 'x' })).rejects.toMatchObject({
    status: 404,
  })
  for (const [param, value] of Object.entries({
    tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    text: { format: { type: 'json_schema', name: 'x', schema: {} } },
    prompt: { id: 'pmpt_1' },
  }))
    await expect(openai.responses.create({ ...input, [param]: value })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param,
    })
})

test('Claude Managed Agents: other resources, fields and events', async () => {
  const { url, token } = await start()
  const { beta, messages } = new Anthropic({
    authToken: token,
    apiKey: null,
    baseURL: `${url}/compat/anthropic`,
    maxRetries: 0,
  })
  const refused = (type: string, name: string) => ({
    error: { type: 'error', error: { type, message: expect.stringContaining(name) } },
  })
  const session = { agent: 'agent_assistant', environment_id: 'env_default' }
  await expect(beta.skills.list()).rejects.toMatchObject(refused('not_found_error', 'skills'))
  await expect(beta.vaults.create({ display_name: 'x' })).rejects.toMatchObject(
    refused('not_found_error', 'vaults'),
  )
  await expect(beta.files.list()).rejects.toMatchObject(refused('not_found_error', 'files'))
  await expect(beta.memoryStores.list()).rejects.toMatchObject(refused('not_found_error', 'memory_stores'))
  await expect(
    messages.create({ model: 'x', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
  ).rejects.toMatchObject(refused('not_found_error', 'messages'))
  await expect(beta.sessions.create({ ...session, metadata: { team: 'x' } })).rejects.toMatchObject(
    refused('invalid_request_error', 'metadata'),
  )
  await expect(
    beta.sessions.create({ ...session, resources: [{ type: 'file', file_id: 'file_1', mount_path: '/x' }] }),
  ).rejects.toMatchObject(refused('invalid_request_error', 'resources'))
  const { id } = await beta.sessions.create(session)
  await expect(
    beta.sessions.events.send(id, {
      events: [{ type: 'system.message', content: [{ type: 'text', text: 'x' }] }],
    }),
  ).rejects.toMatchObject(refused('invalid_request_error', 'system.message'))
  await expect(beta.sessions.delete(id)).rejects.toMatchObject(refused('invalid_request_error', 'delete'))
})

test('AG-UI: tools of a page, branches, contents and another protocol', async () => {
  const { url, token } = await start()
  const ask = async (
    messages: AgUiMessage[],
    run: RunAgentParameters,
    more: object = {},
  ): Promise<string> => {
    const answers: string[] = []
    const agent = new HttpAgent({
      url: `${url}/compat/ag-ui/assistant`,
      headers: { authorization: `Bearer ${token}` },
      threadId: randomUUID(),
      async fetch(input, init) {
        const body = { ...(JSON.parse(String(init?.body)) as object), ...more }
        const response = await fetch(String(input), { ...init, body: JSON.stringify(body) })
        answers.push(`${response.status} ${await response.clone().text()}`)
        return response
      },
    })
    agent.setMessages(messages)
    await expect(agent.runAgent({ runId: randomUUID(), ...run })).rejects.toThrow(/HTTP 400/)
    return answers.join()
  }
  const say = (content: AgUiMessage['content']): AgUiMessage[] => [
    { id: randomUUID(), role: 'user', content } as AgUiMessage,
  ]
  const tools = [{ name: 'page_tool', description: 'x', parameters: { type: 'object', properties: {} } }]
  const audio = { type: 'audio', source: { type: 'data', value: 'AA==', mimeType: 'audio/mp3' } }
  const byUrl = { type: 'image', source: { type: 'url', value: 'https://example.com/x.png' } }
  expect(await ask(say('x'), { tools })).toMatch(/"unsupported".*tools/s)
  expect(await ask(say('x'), {}, { parentRunId: 'r0' })).toMatch(/parentRunId/)
  expect(await ask(say('x'), {}, { protocolVersion: '2.0' })).toMatch(/protocolVersion/)
  expect(await ask(say([audio] as never), {})).toMatch(/audio/)
  expect(await ask(say([byUrl] as never), {})).toMatch(/image/)
})

test('AI SDK: tools and settings of a page, other files, and rewriting', async () => {
  const { url, token } = await start()
  const ask = async (
    message: { text: string } | { parts: UIMessage['parts'] },
    body?: object,
  ): Promise<string> => {
    const errors: Error[] = []
    const chat = openChat({
      url,
      token,
      id: randomUUID(),
      onError: error => void errors.push(error),
    })
    await chat.sendMessage(message, body === undefined ? {} : { body })
    return errors.map(error => error.message).join()
  }
  const refused = (name: string): unknown =>
    expect.stringMatching(new RegExp(`"unsupported".*${name}|${name}.*"unsupported"`, 's'))
  for (const [name, value] of Object.entries({
    tools: { page_tool: { description: 'x' } },
    system: 'You are a pirate.',
    model: 'gpt-5',
    callSettings: { temperature: 2 },
    webSearch: true,
  }))
    expect(await ask({ text: 'x' }, { [name]: value })).toEqual(refused(name))
  const pdf = { type: 'file', mediaType: 'application/pdf', url: 'data:application/pdf;base64,AA==' } as const
  expect(await ask({ parts: [pdf] })).toEqual(refused('application/pdf'))
  const errors: string[] = []
  const chat = openChat({
    url,
    token,
    id: randomUUID(),
    messages: [
      { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'x' }] },
      { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: 'y' }] },
    ],
    onError: error => void errors.push(error.message),
  })
  await chat.regenerate()
  expect(errors.join()).toEqual(refused('regenerate'))
})

test('Agent2Agent: notifications, extensions, other content, and other tenants', async () => {
  const { url, token } = await start()
  const client = await openA2a(url, token)
  const send = (more: Partial<A2aMessage>, tenant = '') =>
    client.sendMessage({ ...request({ ...message([text('x')]), ...more }, true), tenant })
  const sent = await send({})
  const taskId = 'status' in sent ? sent.id : ''
  // The client reads the card first, and throws before it sends anything.
  const notify = async () => client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'x' })
  await expect(notify()).rejects.toThrow(/Push Notification is not supported/)
  await expect(send({ extensions: ['https://example.com/extension'] })).rejects.toThrow(/extensions/)
  await expect(send({ referenceTaskIds: [taskId] })).rejects.toThrow(/referenceTaskIds/)
  const file = { content: { $case: 'url', value: 'https://example.com/a.pdf' } } as const
  const part = { ...file, metadata: undefined, filename: '', mediaType: 'application/pdf' }
  await expect(send({ parts: [part] })).rejects.toThrow(/Parts with a URL are not supported/)
  await expect(send({}, 'other')).rejects.toThrow(/tenant/)
})

test('MCP: prompts, resources, completion, unknown tools and arguments', async () => {
  const { client } = await openClient(await start(), '2026-07-28')
  for (const ask of [
    () => client.getPrompt({ name: 'x' }),
    () => client.readResource({ uri: 'file:///x' }),
    () => client.complete({ ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }),
  ])
    await expect(ask()).rejects.toThrow(/does not support|Method not found/)
  await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toMatchObject({
    code: -32602,
  })
  const { isError, content } = await client.callTool({
    name: 'start_session',
    arguments: { message: 'x', model: 'gpt-5' },
  })
  expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringMatching(/Unrecognized key.*model/)])
})
