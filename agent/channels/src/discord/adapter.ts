/**
 * Discord: a gateway, threads for conversations in servers, buttons, answers edited while they are written.
 */
import { DiscordAPIError, type RawFile, REST } from '@discordjs/rest'
import {
  type APIMessage,
  ButtonStyle,
  ComponentType,
  InteractionResponseType,
  MessageFlags,
  type RESTPostAPIChannelMessageJSONBody,
  Routes,
} from 'discord-api-types/v10'
import type { Adapter, Inbound, OutgoingPart } from '../adapter.ts'
import { readAtMost } from '../read-at-most.ts'
import { sendFailed } from './failures.ts'
import { listen } from './gateway.ts'
import { BUTTONS_A_ROW, LABEL, LIMITS, MAX_BUTTONS, THREAD_NAME } from './limits.ts'

const CALL_MS = 20_000
/** Error code: the message already has a thread, which we opened earlier. */
const HAS_THREAD = 160004

type DiscordOptions = {
  token: string
  groups: 'mention' | 'all'
  reply_in: 'thread' | 'channel'
  apiUrl: string
}

export function createDiscordAdapter({ token, groups, reply_in, apiUrl }: DiscordOptions): Adapter {
  const client = new REST({
    version: '10',
    api: apiUrl,
    retries: 0,
    timeout: CALL_MS,
    rejectOnRateLimit: () => true,
  })
  // The REST client forgets its token after it was rejected once.
  const rest = (): REST => client.setToken(token)
  const opened = new Set<string>()

  /** The channel for a part; its thread exists when this returns. */
  async function channelFor({ target, text }: OutgoingPart, signal: AbortSignal): Promise<string> {
    const { channel_id, opens } = placeOf(target)
    if (opens === undefined) return channel_id
    if (!opened.has(opens)) {
      const name = threadName(text)
      await rest()
        .post(Routes.threads(channel_id, opens), { body: { name }, signal })
        .catch(unless(HAS_THREAD))
      opened.add(opens)
    }
    return opens
  }

  async function send(
    part: OutgoingPart,
    key: string,
    signal: AbortSignal,
  ): Promise<{ message_id: string | null }> {
    const { reply } = part
    if (reply !== undefined) {
      const route = Routes.webhook(String(reply['application_id']), String(reply['token']))
      const body = { content: part.text, flags: MessageFlags.Ephemeral, allowed_mentions: { parse: [] } }
      await rest().post(route, { body, auth: false, signal })
      return { message_id: null }
    }
    const channel = await channelFor(part, signal)
    const body = { ...bodyOf(part), nonce: key, enforce_nonce: true }
    const sent = (await rest().post(Routes.channelMessages(channel), {
      body,
      signal,
      ...(part.file === undefined ? {} : { files: [rawFile(part.file)] }),
    })) as APIMessage
    return { message_id: sent.id }
  }

  return {
    platform: 'discord',
    // User ids are the same for every bot.
    workspace: '',
    limits: LIMITS,
    delivery: 'keyed',
    webhook: null,
    consume: consuming => listen({ token, rest: rest(), groups, reply_in }, consuming),
    address: to => ({ conversation_key: to, target: { channel_id: to } }),
    send: (part, key, signal) => send(part, key, signal).catch(reject),
    async edit(messageId, part, signal) {
      const { channel_id, opens = channel_id } = placeOf(part.target)
      await rest()
        .patch(Routes.channelMessage(opens, messageId), { body: bodyOf(part), signal })
        .catch(reject)
    },
    async typing(target, signal) {
      const { channel_id, opens = channel_id } = placeOf(target)
      await rest().post(Routes.channelTyping(opens), { signal }).catch(reject)
    },
    acknowledge: ({ reply }, signal) => acknowledge(rest(), reply, signal).catch(reject),
    fetchFile: async ({ ref }, most, signal) => readAtMost(await fetch(String(ref['url']), { signal }), most),
  }
}

/** Within three seconds, or Discord shows the person an error. */
async function acknowledge(rest: REST, reply: Inbound['reply'], signal: AbortSignal): Promise<void> {
  if (reply === undefined) return
  const body =
    reply['kind'] === 'press'
      ? { type: InteractionResponseType.DeferredMessageUpdate }
      : {
          type: InteractionResponseType.ChannelMessageWithSource,
          data: { content: 'Taken.', flags: MessageFlags.Ephemeral },
        }
  const route = Routes.interactionCallback(String(reply['id']), String(reply['token']))
  await rest.post(route, { body, auth: false, signal })
}

const reject = (thrown: unknown): never => {
  throw sendFailed(thrown)
}
const unless =
  (code: number) =>
  (thrown: unknown): void => {
    if (!(thrown instanceof DiscordAPIError) || thrown.code !== code) throw thrown
  }

/** `opens`: create a thread at that message; it gets the message's id. */
const placeOf = (target: Record<string, unknown>): { channel_id: string; opens?: string } => ({
  channel_id: String(target['channel_id']),
  ...(target['opens'] === undefined ? {} : { opens: String(target['opens']) }),
})
const threadName = (text: string): string => {
  const line = text.split('\n').find(each => each.trim() !== '') ?? 'Conversation'
  return [...line.trim()].slice(0, THREAD_NAME).join('')
}
const rawFile = ({ name, bytes, mime_type }: NonNullable<OutgoingPart['file']>): RawFile => ({
  name,
  data: Buffer.from(bytes),
  contentType: mime_type,
})

/** Text of a model must not ping people. */
function bodyOf({ text, prompt }: OutgoingPart): RESTPostAPIChannelMessageJSONBody {
  const choices = (prompt?.choices ?? []).slice(0, MAX_BUTTONS)
  const rows = Array.from({ length: Math.ceil(choices.length / BUTTONS_A_ROW) }, (_, at) =>
    choices.slice(at * BUTTONS_A_ROW, (at + 1) * BUTTONS_A_ROW),
  )
  return {
    content: text,
    allowed_mentions: { parse: [] },
    components: rows.map(row => ({
      type: ComponentType.ActionRow,
      components: row.map(({ value, label }) => ({
        type: ComponentType.Button,
        style: ButtonStyle.Secondary,
        custom_id: value,
        label: [...label].slice(0, LABEL).join(''),
      })),
    })),
  }
}
