/**
 * `cairn doctor --model NAME`: one small call with a tool and a picture, and what is known about the server
 * afterwards. What the call learns from refusals is kept for the service.
 */
import { existsSync } from 'node:fs'
import {
  callWatched,
  createLearnedFacts,
  createModels,
  imageKey,
  type ModelAnswer,
  ModelError,
  type ModelRequest,
  type Models,
  type ProfileFact,
} from '@cairn/models'
import { systemClock } from '@cairn/models/clock'
import { asError, type Config, type ServerProfile } from '@cairn/protocol'
import { readConfig } from '../config/read-config.ts'
import { learnedFactsFile } from '../local/data-dir.ts'
import type { Finding } from './finding.ts'

type Environment = Readonly<Record<string, string | undefined>>

const TOOL = 'report_color'
/** A red square of 32 pixels: some servers refuse smaller pictures. */
const RED_SQUARE =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKklEQVR42mO4oKBAU8QwasGoBaMWjFowasGoBaMWjFowasGo' +
  'BaMWDBULAE7YQD2B7wk2AAAAAElFTkSuQmCC'
const PICTURE = { data: RED_SQUARE, mime_type: 'image/png' as const }
/** Enough for a model that reasons first. */
const MAX_TOKENS = 2000
const QUOTED_CHARS = 120

const request = (model: string): ModelRequest => ({
  model,
  messages: [
    { role: 'system', content: 'You test a connection. Be brief.' },
    {
      role: 'user',
      content: `What color is the picture? Answer by calling the tool ${TOOL} once. If you see no picture, report "none".`,
      images: [PICTURE],
    },
  ],
  tools: [
    {
      name: TOOL,
      description: 'Reports the color of the picture.',
      parameters: {
        type: 'object',
        properties: { color: { type: 'string', description: 'one word' } },
        required: ['color'],
        additionalProperties: false,
      },
    },
  ],
  max_tokens: MAX_TOKENS,
})

export async function tryModel(
  env: Environment,
  dataDir: string,
  name: string,
  signal: AbortSignal,
): Promise<Finding[]> {
  const check = `model ${name}`
  let config: Config
  try {
    config = readConfig(env).config
  } catch {
    // The configuration check reports it.
    return []
  }
  const provider = config.models.providers[name.slice(0, name.indexOf('/'))]
  if (provider?.kind === 'scripted')
    return [{ check, verdict: 'ok', detail: 'answers from a scenario (not called)' }]
  const file = existsSync(dataDir) ? { file: learnedFactsFile(dataDir) } : {}
  const models = createModels(config.models, env, {}, createLearnedFacts(file))
  try {
    const findings = await callOnce(models, config, name, signal)
    return [...findings, ...serverFacts(models.explainServer(name), name)]
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return [{ check, verdict: 'fail', detail: error.message }]
  } finally {
    await models.close()
  }
}

async function callOnce(
  models: Models,
  { limits }: Config,
  name: string,
  signal: AbortSignal,
): Promise<Finding[]> {
  const check = `model ${name}`
  const served = models.resolve(name)
  const startedAt = systemClock.monotonic()
  try {
    const answer = await callWatched(
      { clock: systemClock, signal, random: Math.random, report: () => {}, limits },
      served,
      request(served.model),
      0,
    )
    const seconds = ((systemClock.monotonic() - startedAt) / 1000).toFixed(1)
    return describe(check, answer, seconds, acceptsPicture(served.serverProfile()))
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof ModelError)) throw error
    return [{ check, verdict: 'fail', detail: `the call failed: ${asError(error).message}` }]
  }
}

const acceptsPicture = ({ vision, omitted_images }: ServerProfile): boolean =>
  vision && !omitted_images.includes(imageKey(PICTURE))

function describe(check: string, answer: ModelAnswer, seconds: string, tookPicture: boolean): Finding[] {
  const { message, usage, finish_reason } = answer
  const call = message.tool_calls?.find(each => each.function.name === TOOL)
  const tokens = `${usage.input_tokens} input and ${usage.output_tokens} output tokens`
  const isRed = /\bred\b|crimson|scarlet/i.test(call?.function.arguments ?? message.content)
  return [
    { check, verdict: 'ok', detail: `answered in ${seconds} s (${tokens}, finish reason ${finish_reason})` },
    call === undefined
      ? {
          check: 'tools',
          verdict: 'warn',
          detail:
            `the model did not call the tool; it wrote ${JSON.stringify(message.content.slice(0, QUOTED_CHARS))}. ` +
            'Agents need a model that calls tools',
        }
      : { check: 'tools', verdict: 'ok', detail: `the model called ${TOOL} with ${call.function.arguments}` },
    !tookPicture
      ? {
          check: 'pictures',
          verdict: 'warn',
          detail: 'the server accepts no pictures; the model reads a note in their place',
        }
      : isRed
        ? { check: 'pictures', verdict: 'ok', detail: 'the model saw the red picture' }
        : {
            check: 'pictures',
            verdict: 'warn',
            detail: 'the server accepted the picture, but the model did not name its color, red',
          },
  ]
}

/** The profile that requests to this model satisfy, with where each fact comes from. */
const serverFacts = (facts: readonly ProfileFact[], name: string): Finding[] =>
  facts.map(fact => ({
    check: `server of ${name}`,
    verdict: 'ok',
    detail: `${fact.fact} is ${JSON.stringify(fact.value)} (${sourceOf(fact)})`,
  }))

function sourceOf(fact: ProfileFact): string {
  switch (fact.source) {
    case 'default':
      return 'default'
    case 'host':
      return `documented for ${fact.profile}`
    case 'catalogue':
      return 'models.catalog'
    case 'learned':
      return `learned at ${fact.learned_at} from: ${fact.reason}`
  }
}
