/**
 * All model servers of the zoo on one port, each below its name. Every one answers from the same scenario,
 * in its own form, and refuses what its profile refuses.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ChatRequest, chooseRule, describeFacts, factsOf } from '../../src/match.ts'
import { scriptedReply } from '../../src/reply.ts'
import { parseScenario, type ScenarioInput, type ScenarioRule } from '../../src/scenario.ts'
import { anthropicAnswer, openAIAnswer, type ZooAnswer } from './answers.ts'
import type { Check, ZooProfile } from './profile.ts'
import { ZOO, type ZooName } from './profiles.ts'
import { refusalBody } from './refusals.ts'
import { findFault, type Json, readAnthropic, readOpenAI, type SentRequest } from './requests.ts'

export type ZooServer = {
  /** The base URL of one model server. */
  url(name: ZooName): string
  /** Whether that server has answered a request with a picture. */
  sawPicture(name: ZooName): boolean
  /** What that server has refused, in order. */
  refused(name: ZooName): readonly Check[]
  [Symbol.asyncDispose](): Promise<void>
}

const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'model', object: 'model' }] })

export async function startZoo(input: ScenarioInput): Promise<ZooServer> {
  const scenario = parseScenario(input)
  const used = new Map<ZooName, Map<ScenarioRule, number>>()
  const refused = new Map<ZooName, Check[]>()
  const sawPicture = new Set<ZooName>()
  let answers = 0

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = '', ...rest] = (incoming.url ?? '').split('/')
    const profile: ZooProfile | undefined = Object.hasOwn(ZOO, name) ? ZOO[name as ZooName] : undefined
    const path = rest.join('/').replace(/\?.*/, '')
    const isChat = path === (profile?.protocol === 'anthropic' ? 'v1/messages' : 'v1/chat/completions')
    if (path === 'v1/models') return send(response, 200, 'application/json', MODELS)
    if (profile === undefined || !isChat) return send(response, 404, 'text/plain', '404 page not found')
    const body = JSON.parse(await readBody(incoming)) as Json
    const request = profile.protocol === 'anthropic' ? readAnthropic(body) : readOpenAI(body)
    const fault = findFault(profile, request)
    if (fault !== undefined) {
      refused.set(name as ZooName, [...(refused.get(name as ZooName) ?? []), fault.check])
      const words = profile.refuses[fault.check] ?? profile.refuses.too_long
      const sent = refusalBody(profile.error, words, fault)
      return send(response, sent.status, 'application/json', sent.body)
    }
    if (request.messages.some(message => message.pictures > 0)) sawPicture.add(name as ZooName)
    const reply = script(name as ZooName, request)
    if (typeof reply === 'string') return send(response, 500, 'text/plain', reply)
    const form = profile.answer
    const sent = profile.protocol === 'anthropic' ? anthropicAnswer(form, reply) : openAIAnswer(form, reply)
    send(response, 200, sent.type, sent.body)
  }

  /** A text says why the scenario has no answer. */
  function script(name: ZooName, request: SentRequest): ZooAnswer | string {
    const asked = asChatRequest(request)
    const facts = factsOf(asked)
    const counts = used.get(name) ?? new Map<ScenarioRule, number>()
    used.set(name, counts)
    const choice = chooseRule(scenario, facts, counts)
    if (choice === undefined) return `no rule of the scenario matches: ${describeFacts(facts)}`
    counts.set(choice.rule, (counts.get(choice.rule) ?? 0) + 1)
    const reply = scriptedReply(scenario, choice, facts, asked)
    const { message } = (reply.completion['choices'] as { message: Json }[])[0] ?? { message: {} }
    const calls = (message['tool_calls'] ?? []) as { function: { name: string; arguments: string } }[]
    return {
      text: String(message['content']),
      reasoning: 'Let me see.',
      calls: calls.map(call => call.function),
      model: asked.model,
      seed: `${name}:${answers++}`,
    }
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => send(response, 500, 'text/plain', String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: name => `http://127.0.0.1:${port}/${name}${ZOO[name].protocol === 'anthropic' ? '' : '/v1'}`,
    sawPicture: name => sawPicture.has(name),
    refused: name => refused.get(name) ?? [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The request in the form that scenarios read. */
const asChatRequest = ({ body, messages, tools }: SentRequest): ChatRequest =>
  ChatRequest.parse({
    model: body['model'],
    messages: messages.map(({ role, text, calls, answers }) => ({
      role,
      content: text,
      tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, function: { name, arguments: args } })),
      tool_call_id: answers,
    })),
    tools: tools.map(({ name }) => ({ function: { name } })),
  })

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type }).end(body)
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const bytes: Buffer[] = []
  for await (const piece of incoming) bytes.push(piece as Buffer)
  return Buffer.concat(bytes).toString()
}
