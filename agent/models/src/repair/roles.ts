/** The order of roles that chat templates and servers accept. */
import type { ServerProfile } from '../servers/profiles.ts'
import type { SentAssistant, SentMessage } from './sent-message.ts'

/** Fills a place where a server requires a message of the user. */
const CONTINUE = '(Continue.)'
/** Between tool results and a message of the user, for servers that require an answer there. */
const BRIDGE = 'I have the results.'

type Role<R extends SentMessage['role']> = Extract<SentMessage, { role: R }>

/** One system message at most, at the start; then a user message first, and a user message or result last. */
export function orderRoles(messages: readonly SentMessage[], profile: ServerProfile): SentMessage[] {
  const first = messages.findIndex(message => message.role !== 'system')
  const leading = (first === -1 ? messages : messages.slice(0, first)).map(({ content }) => content)
  const system = leading.filter(text => text.trim() !== '').join('\n\n')
  const rest = first === -1 ? [] : messages.slice(first).map(asUser)
  const ordered = profile.strict_roles ? alternate(rest) : rest
  const [opening] = ordered
  const started: SentMessage[] =
    opening?.role === 'user' ? ordered : [{ role: 'user', content: CONTINUE }, ...ordered]
  const whole: SentMessage[] =
    started.at(-1)?.role === 'assistant' ? [...started, { role: 'user', content: CONTINUE }] : started
  if (system === '') return whole
  if (profile.system_role === 'system') return [{ role: 'system', content: system }, ...whole]
  const [head, ...others] = whole as [Role<'user'>, ...SentMessage[]]
  return [{ ...head, content: `${system}\n\n${head.content}`.trimEnd() }, ...others]
}

/** Many templates accept a system message only at the start. */
const asUser = (message: SentMessage): SentMessage =>
  message.role === 'system' ? { role: 'user', content: message.content } : message

/** Merges messages of one role in a row, and answers tool results before the user speaks. */
function alternate(messages: readonly SentMessage[]): SentMessage[] {
  const out: SentMessage[] = []
  for (const message of messages) {
    const last = out.at(-1)
    if (message.role === 'user' && last?.role === 'user') out[out.length - 1] = mergeUsers(last, message)
    else if (message.role === 'assistant' && last?.role === 'assistant')
      out[out.length - 1] = mergeAnswers(last, message)
    else if (message.role === 'user' && last?.role === 'tool')
      out.push({ role: 'assistant', content: BRIDGE }, message)
    else out.push(message)
  }
  return out
}

const mergeTexts = (a: string, b: string): string => [a, b].filter(text => text !== '').join('\n\n')

function mergeUsers(a: Role<'user'>, b: Role<'user'>): SentMessage {
  const images = [...(a.images ?? []), ...(b.images ?? [])]
  return {
    role: 'user',
    content: mergeTexts(a.content, b.content),
    ...(images.length > 0 ? { images } : {}),
  }
}

/** Only the second may have calls: the results of the first would stand between them. */
const mergeAnswers = (a: SentAssistant, b: SentAssistant): SentAssistant => ({
  ...b,
  content: mergeTexts(a.content, b.content),
  ...(a.fields || b.fields ? { fields: { ...a.fields, ...b.fields } } : {}),
})
