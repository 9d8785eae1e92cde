/**
 * Questions of an MCP server to the person of the session (elicitation), as questions of the call during
 * which the server asks. A form becomes one question a field; an address becomes one question, which the
 * person answers after opening it.
 */
import type { Answer, Question } from '@cairn/protocol'
import { z } from 'zod'
import type { AskPerson } from '../../tools/tool.ts'
import { fieldsOf, type Field, readAnswer } from './elicitation-fields.ts'

type Value = string | number | boolean | string[]
export type ElicitResult = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, Value> }

/** Leaves room for other keys of later revisions. */
const Params = z.looseObject({
  mode: z.string().optional(),
  message: z.string().default(''),
  requestedSchema: z.unknown().optional(),
  url: z.string().optional(),
})

const MAX_TRIES = 3
const SEND = 'Send'
const DECLINE = 'Decline'
const DONE = 'Done'

/** Without `ask`, no person can be asked, and the answer is `cancel`. Throws if the request is invalid. */
export async function elicit(
  server: string,
  params: unknown,
  ask: AskPerson | undefined,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const parsed = Params.safeParse(params)
  if (!parsed.success) throw new Error('invalid elicitation: its params are not an object with a message')
  if (ask === undefined) return { action: 'cancel' }
  const { mode = 'form', message, url, requestedSchema } = parsed.data
  if (mode === 'url') return askForUrl(server, message, url ?? '', ask, signal)
  if (mode !== 'form')
    throw new Error(`unknown elicitation mode ${JSON.stringify(mode)}: must be form or url`)
  return askForm(server, message, fieldsOf(requestedSchema), ask, signal)
}

async function askForUrl(
  server: string,
  message: string,
  url: string,
  ask: AskPerson,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new Error(
      `invalid elicitation: ${JSON.stringify(url.slice(0, 200))} is not an http or https address`,
    )
  const prompt = `Open this address of ${parsed.host}, then choose ${DONE}: ${parsed.href}`
  return decide({ context: introduce(server, message), prompt, yes: DONE }, ask, signal)
}

/** One question with two answers. */
export async function decide(
  { context, prompt, yes }: { context: string; prompt: string; yes: string },
  ask: AskPerson | undefined,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const answers = (await ask?.({ context, questions: [decision(prompt, yes)] }, signal)) ?? null
  return decided(answers, prompt, yes)
}

async function askForm(
  server: string,
  message: string,
  fields: readonly Field[],
  ask: AskPerson,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const prompt = `Send your answer to MCP server "${server}"?`
  const questions = [...fields.map(({ question }) => question), decision(prompt, SEND)]
  let problems: string[] = []
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const context = [introduce(server, message), ...problems].join('\n')
    const answers = await ask({ context, questions }, signal)
    const { action } = decided(answers, prompt, SEND)
    if (action !== 'accept' || answers === null) return { action }
    const content: Record<string, Value> = {}
    problems = []
    for (const field of fields) {
      const read = readAnswer(
        field,
        answers.find(({ question }) => question === field.question.prompt)?.answer,
      )
      if ('problem' in read) problems.push(read.problem)
      else if (read.value !== undefined) content[field.name] = read.value as Value
    }
    if (problems.length === 0) return { action: 'accept', content }
  }
  return { action: 'cancel' }
}

const introduce = (server: string, message: string): string => `MCP server "${server}" asks: ${message}`

const decision = (prompt: string, yes: string): Question => ({
  prompt,
  choices: [{ label: yes }, { label: DECLINE }],
  allow_other: false,
})

/** Null answers: the question was closed without one. */
function decided(answers: readonly Answer[] | null, prompt: string, yes: string): ElicitResult {
  const answer = answers?.find(({ question }) => question === prompt)?.answer
  if (answer === yes) return { action: 'accept' }
  return { action: answer === DECLINE ? 'decline' : 'cancel' }
}
