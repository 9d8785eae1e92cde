/**
 * One session against a model server of the zoo: a question, an approval, workers, parallel calls, a page in
 * the browser, a picture and a conversation that becomes too long. The log must not show which server it is.
 */
import { z } from 'zod'
import { addMessage, answerQuestion, createSession, respondInbox } from '@cairn/sessions'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { SessionEvent } from '@cairn/protocol'
import type { ScenarioInput } from '@cairn/scripted-model'
import {
  type Check,
  startZoo,
  ZOO,
  ZOO_NAMES,
  type ZooName,
  type ZooServer,
} from '@cairn/scripted-model/test/zoo'
import { essence } from '../golden/essence.ts'
import { goal, OUTCOME, spawn, treeLogs, wait } from '../coordination/tree-stage.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { browserTools } from '../../src/capabilities/browser/tools.ts'
import { openSite } from '../browser/stage.ts'
import { makeFolder } from '../tools/tool-context.ts'
import { alice, call, readLog, say, setStage, type Stage } from '../turn/stage.ts'

const long = (word: string): string => `${word} `.repeat(12_000 / (word.length + 1))

const scenarioOf = (page: string): ScenarioInput => ({
  rules: [
    { when: { system: 'keep the memory of an assistant' }, answer: say('The person likes blue.') },
    { when: { tool: 'note', result: 'policy_blocked' }, answer: say('Waiting for your approval.') },
    { when: { tool: 'note' }, answer: say('It is noted.') },
    { when: { tool: 'schedule_visit' }, answer: say('It is arranged.') },
    { when: { tool: 'look', result: 'invalid|not valid|error' }, answer: say('That was no call.') },
    { when: { tool: 'ask_user_question' }, answer: say('Blue it is.') },
    { when: { tool: 'look' }, answer: say('I looked at both.') },
    {
      when: { tool: 'browser_navigate', result: 'The gate is open' },
      answer: { tool_calls: [{ name: 'browser_close', arguments: {} }] },
    },
    { when: { tool: 'browser_close' }, answer: say('It is open.') },
    { when: { tool: 'browser_navigate' }, answer: say('I could not read the page.') },
    { when: goal('count the eggs'), answer: say('There are 12.') },
    { when: OUTCOME, answer: say('The worker counted 12 eggs.') },
    { when: { user: 'approved' }, answer: { tool_calls: [{ repeat: 'note' }] } },
    {
      when: { user: '^ask me' },
      answer: {
        tool_calls: [
          {
            name: 'ask_user_question',
            arguments: {
              questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
            },
          },
        ],
      },
    },
    {
      when: { user: '^arrange a visit' },
      answer: { tool_calls: [{ name: 'schedule_visit', arguments: { codes: ['AB'], days: 2 } }] },
    },
    {
      when: { user: '^fail at it' },
      answer: { tool_calls: [{ name: 'look', raw_arguments: '{"value": ] ' }] },
    },
    {
      when: { user: '^try a blank' },
      answer: { tool_calls: [{ name: ' look', arguments: { value: 'up' } }] },
    },
    { when: { user: '^note it' }, answer: call('note', 'a "quoted" word – 東京 🗼\n\\ and a line') },
    { when: { user: '^send a worker' }, answer: { tool_calls: [spawn('count the eggs'), wait] } },
    {
      when: { user: '^look around' },
      answer: {
        text: 'Looking.',
        tool_calls: ['left', 'right'].map(value => ({ name: 'look', arguments: { value } })),
      },
    },
    {
      when: { user: '^read the page' },
      answer: { tool_calls: [{ name: 'browser_navigate', arguments: { url: page } }] },
    },
    { when: { user: '^what is in the picture' }, answer: say('A dot.') },
    { when: { user: '^remember' }, answer: say('I will remember it.') },
    { when: { user: '^what now' }, answer: say('Now it fits.') },
  ],
})

/** The smallest PNG: one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A tool with a long description and with keywords of JSON Schema that some servers refuse. */
const VISIT: Tool = {
  name: 'schedule_visit',
  description: `Arranges a visit. ${'It knows many places. '.repeat(70)}`,
  parameters: z.strictObject({
    codes: z.array(z.string().regex(/^[A-Z]{2}$/)).min(1),
    days: z.number().positive(),
  }),
  readOnly: true,
  idempotent: true,
  run: () => Promise.resolve({ content: 'arranged' }),
}

/** More tools than some servers accept. */
const FILLERS: readonly Tool[] = Array.from({ length: 24 }, (_, at) => ({
  name: `filler_${at + 1}`,
  description: 'Does nothing.',
  parameters: z.strictObject({}),
  readOnly: true,
  idempotent: true,
  run: () => Promise.resolve({ content: '' }),
}))

const ENDS: readonly string[] = ['session.complete', 'session.fail']

type Guest = {
  stage: Stage
  session_id: string
  send(content: string, images?: { data: string; mime_type: 'image/png' }[]): Promise<void>
  /** True, too, for a model without sight. */
  sawPicture(): boolean
  /** Waits for the question of the running turn; returns the id of its call. */
  question(): Promise<string>
  /** Waits for the end of the turn that is running, and throws if the session failed. */
  rest(): Promise<void>
}

/** Each step ends with the session at rest, or throws. */
export const STEPS: Readonly<Record<string, (guest: Guest) => Promise<void>>> = {
  async question({ stage, session_id, send, question, rest }) {
    await send('ask me')
    const tool_call_id = await question()
    await answerQuestion(stage.deps, {
      session_id,
      tool_call_id,
      responses: [{ question: 'Which colour?', answer: 'blue' }],
      principal: alice,
    })
    await rest()
  },
  async 'bad calls'({ send, rest }) {
    for (const content of ['fail at it', 'try a blank', 'arrange a visit']) {
      await send(content)
      await rest()
    }
  },
  async approval({ stage, session_id, send, rest }) {
    await send('note it')
    await rest()
    const waiting = { org_id: 'org', session_id, status: ['pending' as const], limit: 1 }
    const [item] = (await stage.store.inbox.list(waiting)).items
    if (item === undefined) throw new Error('nothing waits for an approval')
    await respondInbox(stage.deps, item.id, { decision: 'approve' }, alice)
    await rest()
  },
  async workers({ send, rest }) {
    await send('send a worker')
    await rest()
  },
  async 'parallel calls'({ send, rest }) {
    await send('look around')
    await rest()
  },
  async browser({ stage, session_id, send, rest }) {
    await send('read the page')
    await rest()
    const log = await readLog(stage.store, session_id)
    const answers = log.filter(event => event.type === 'llm.response')
    if (answers.at(-1)?.data.message.content !== 'It is open.') throw new Error('the page was not read')
  },
  async picture({ send, rest, sawPicture }) {
    await send('what is in the picture?', [{ data: DOT, mime_type: 'image/png' }])
    await rest()
    if (!sawPicture()) throw new Error('a model that sees did not get the picture')
  },
  async compaction({ stage, session_id, send, rest }) {
    for (const content of [
      `remember ${long('one')}`,
      `remember ${long('two')}`,
      `what now ${long('three')}`,
    ]) {
      await send(content)
      await rest()
    }
    const log = await readLog(stage.store, session_id)
    if (!log.some(event => event.type === 'context.compact')) throw new Error('nothing was compacted')
  },
}
export const STEP_NAMES = Object.keys(STEPS)

export type Visit = {
  name: ZooName
  /** Absent for a step that was reached and done; otherwise the reason. */
  failures: Partial<Record<string, string>>
  /** What the server refused before Cairn sent it as the server wants it. */
  refused: readonly Check[]
  /** What happened in the session and in those of its workers. */
  log: readonly unknown[]
}

export type Tour = { visit(name: ZooName): Promise<Visit>; [Symbol.asyncDispose](): Promise<void> }

/** All visits share a store, a runner and the servers. */
export async function startTour(): Promise<Tour> {
  const site = await openSite((_, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<title>Gate</title><h1>The gate is open</h1>')
  })
  const scenario = scenarioOf(site.url)
  const zoo = await startZoo(scenario)
  const runnerId = 'runner'
  const dir = makeFolder('zoo')
  const store = await openStoreInProcess({ dir: `${dir}/log` })
  const browsers = await site.openBrowsers({ store, runnerId, dir })
  const stage = await setStage({
    store,
    scenario,
    agent: {
      governance: { require_approval: ['note'], egress: { internal: ['site.test'] } },
      max_tokens: 4000,
      temperature: 0.2,
    },
    tools: [VISIT, ...FILLERS, ...browserTools({ browsers, evaluate: true, pdf: true })],
    limits: { drain_s: 0, llm_retries: 1 },
    config: {
      models: {
        default: 'demo/model',
        providers: {
          demo: { kind: 'scripted' },
          ...Object.fromEntries(
            ZOO_NAMES.map(name => [name, { kind: ZOO[name].protocol, base_url: zoo.url(name) }]),
          ),
        },
      },
    },
  })
  stage.start({ runnerId })
  return {
    visit: name => visit(stage, zoo, name),
    async [Symbol.asyncDispose]() {
      await browsers.stop()
      await site.close()
      await stage[Symbol.asyncDispose]()
      await zoo[Symbol.asyncDispose]()
    },
  }
}

async function visit(stage: Stage, zoo: ZooServer, name: ZooName): Promise<Visit> {
  const { id: session_id } = await createSession(stage.deps, ['assistant'], {
    principal: alice,
    title: name,
    config: { model: `${name}/model` },
  })
  const isBlind = 'pictures' in ZOO[name].refuses
  const guest = guestOf(stage, session_id, () => isBlind || zoo.sawPicture(name))
  const failures: Visit['failures'] = {}
  for (const [step, run] of Object.entries(STEPS)) {
    try {
      await run(guest)
    } catch (error) {
      failures[step] = error instanceof Error ? error.message : String(error)
      break
    }
  }
  const logs = [...(await treeLogs(stage.store, session_id)).values()]
  return { name, failures, refused: zoo.refused(name), log: logs.flatMap(common) }
}

/** Without what depends on the server: whether it shows its reasoning, and how it names its calls. */
function common(events: readonly SessionEvent[]): unknown[] {
  const ids = events.flatMap(event => (event.type === 'tool.call' ? [event.data.tool_call_id] : []))
  const named = (_: string, value: unknown): unknown =>
    typeof value === 'string'
      ? ids.reduce((text, id, at) => text.replaceAll(id, `call ${at + 1}`), value)
      : value
  const kept = JSON.stringify(
    events.filter(event => event.type !== 'llm.thinking'),
    named,
  )
  return essence(JSON.parse(kept) as SessionEvent[])
}

function guestOf(stage: Stage, session_id: string, sawPicture: () => boolean): Guest {
  let seen = 0
  const until = async <T>(find: (events: readonly SessionEvent[]) => T | undefined): Promise<T> => {
    const found = Promise.withResolvers<T>()
    const look = (): void => {
      readLog(stage.store, session_id).then(events => {
        const result = find(events)
        if (result !== undefined) found.resolve(result)
      }, found.reject)
    }
    const unwatch = stage.store.events.watch(session_id, look)
    look()
    try {
      return await found.promise
    } finally {
      unwatch()
    }
  }
  return {
    stage,
    session_id,
    sawPicture,
    async send(content, images) {
      await addMessage(stage.deps, { session_id, content, principal: alice, ...(images ? { images } : {}) })
    },
    async question() {
      const found = await until(events =>
        events.find(({ id, type }) => id > seen && [...ENDS, 'inbox.input_required'].includes(type)),
      )
      if (found.type === 'session.fail') throw new Error(found.data.error)
      if (found.type !== 'inbox.input_required') throw new Error('the turn ended without a question')
      return found.data.tool_call_id
    },
    async rest() {
      const end = await until(events => events.find(({ id, type }) => id > seen && ENDS.includes(type)))
      seen = end.id
      if (end.type === 'session.fail') throw new Error(end.data.error)
    },
  }
}
