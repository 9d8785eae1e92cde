/** Tools of the conformance suite that ask in several rounds, with a state that the client carries. */
import { createHmac } from 'node:crypto'
import { acceptedContent, inputRequired, ProtocolError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { McpTool, ToolCall } from '../../src/mcp/server.ts'
import { fixture, form, SAMPLE, says } from './conformance-tools.ts'

const Name = z.object({ name: z.string() })
export const NAME_FORM = form('What is your name?', { name: { type: 'string' } })

/** State that the client carries, and cannot change. */
const KEY = 'conformance'
const mac = (state: string): string => createHmac('sha256', KEY).update(state).digest('hex')
const sealed = (state: string): string => `${state}.${mac(state)}`
function opened({ context }: ToolCall): string | null {
  const given = context.mcpReq.requestState<string>()
  if (given === undefined) return null
  const [state = '', tag] = given.split('.')
  if (tag !== mac(state)) throw new ProtocolError(-32602, 'Invalid requestState.')
  return state
}

/** Asks once; a second round needs all answers and the state. */
const asksOnce = (
  name: string,
  inputRequests: NonNullable<Parameters<typeof inputRequired>[0]['inputRequests']>,
  done: (responses: Readonly<Record<string, unknown>>) => string | null,
  state?: string,
): McpTool =>
  fixture(name, (_, call) => {
    const known = opened(call)
    const answer = call.inputResponses === null ? null : done(call.inputResponses)
    if (answer !== null && (state === undefined || known === state)) return says(answer)
    return inputRequired({ inputRequests, ...(state === undefined ? {} : { requestState: sealed(state) }) })
  })

export const ROUND_TOOLS: readonly McpTool[] = [
  asksOnce('test_input_required_result_elicitation', { user_name: NAME_FORM }, responses => {
    const given = acceptedContent({ ...responses }, 'user_name', Name)
    return given === undefined ? null : `Hello, ${given.name}!`
  }),
  asksOnce(
    'test_input_required_result_sampling',
    { capital_question: SAMPLE('What is the capital of France?') },
    ({ capital_question: answer }) => (answer === undefined ? null : `Answer: ${JSON.stringify(answer)}`),
  ),
  asksOnce(
    'test_input_required_result_list_roots',
    { client_roots: inputRequired.listRoots() },
    ({ client_roots: roots }) => (roots === undefined ? null : `Roots: ${JSON.stringify(roots)}`),
  ),
  ...['test_input_required_result_request_state', 'test_input_required_result_tampered_state'].map(name =>
    asksOnce(
      name,
      { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
      ({ confirm }) => (confirm === undefined ? null : 'state-ok'),
      'asked',
    ),
  ),
  asksOnce(
    'test_input_required_result_multiple_inputs',
    {
      user_name: NAME_FORM,
      greeting: SAMPLE('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    },
    responses =>
      ['user_name', 'greeting', 'client_roots'].every(key => responses[key] !== undefined)
        ? 'All there.'
        : null,
    'asked',
  ),
  fixture('test_input_required_result_multi_round', (_, call) => {
    const state = opened(call)
    if (state === 'second' && call.inputResponses?.['step2'] !== undefined) return says('Both answered.')
    return state === 'first' && call.inputResponses?.['step1'] !== undefined
      ? inputRequired({
          inputRequests: {
            step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }),
          },
          requestState: sealed('second'),
        })
      : inputRequired({
          inputRequests: { step1: form('Step 1: What is your name?', { name: { type: 'string' } }) },
          requestState: sealed('first'),
        })
  }),
  fixture('test_input_required_result_capabilities', (_, { canElicit, capabilities, inputResponses }) => {
    if (inputResponses !== null) return says('ok')
    return inputRequired({
      inputRequests: {
        ...(canElicit ? { user_name: NAME_FORM } : {}),
        ...(capabilities.sampling === undefined ? {} : { greeting: SAMPLE('Generate a greeting', 50) }),
      },
      requestState: sealed('asked'),
    })
  }),
]
