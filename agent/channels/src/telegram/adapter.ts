/** Telegram: a long poll or a webhook, answers that are edited while they are written, buttons, files. */
import { timingSafeEqual } from 'node:crypto'
import { AppError } from '@cairn/protocol'
import { Api, InputFile } from 'grammy'
import type { InlineKeyboardMarkup, Update } from 'grammy/types'
import type { Adapter, Consuming, Inbound, OutgoingPart } from '../adapter.ts'
import { readAtMost } from '../read-at-most.ts'
import { consumeFailed, isSame, sendFailed } from './failure.ts'
import { ALERT, CAPTION, LIMITS } from './limits.ts'
import { type Me, parseUpdate } from './parse.ts'

const CALL_MS = 20_000
const POLL_S = 25
const UPDATES = ['message', 'edited_message', 'callback_query'] as const
const COMMANDS = [
  { command: 'stop', description: 'Stop the running turn' },
  { command: 'new', description: 'Begin a new conversation' },
  { command: 'status', description: 'Show whether I am working or waiting' },
  { command: 'link', description: 'Link this account: /link CODE' },
  { command: 'disclosure', description: 'Show who you are talking to' },
  { command: 'help', description: 'List the commands' },
]

export type TelegramOptions = {
  token: string
  groups: 'mention' | 'all'
  apiRoot: string
  /** Null for a long poll. */
  webhook: { url: string; secret: string } | null
}

export function createTelegramAdapter({ token, groups, apiRoot, webhook }: TelegramOptions): Adapter {
  const api = new Api(token, { apiRoot, timeoutSeconds: POLL_S + 10 })
  let known: Promise<Me> | undefined
  const me = (): Promise<Me> => (known ??= api.getMe().catch(forget))
  const forget = (thrown: unknown): never => {
    known = undefined
    throw thrown
  }
  const parse = async (updates: readonly Update[]): Promise<Inbound[]> => {
    const self = await me()
    return updates.flatMap(update => parseUpdate(update, self, groups) ?? [])
  }
  return {
    platform: 'telegram',
    // User ids are the same for every bot.
    workspace: '',
    limits: LIMITS,
    delivery: 'unkeyed',
    sendsStart: true,
    webhook:
      webhook === null
        ? null
        : {
            methods: ['POST'],
            bodyLimit: 1024 * 1024,
            verify({ headers }) {
              const given = Buffer.from(headers.get('x-telegram-bot-api-secret-token') ?? '')
              const secret = Buffer.from(webhook.secret)
              if (given.length !== secret.length || !timingSafeEqual(given, secret))
                throw new AppError('bad_signature', 'Wrong secret token for this webhook.')
              return null
            },
            parse: ({ raw }) => parse([readUpdate(raw)]),
          },
    consume: consuming =>
      listen(api, me, parse, webhook, consuming).catch((error: unknown) =>
        consuming.signal.aborted ? undefined : Promise.reject(consumeFailed(error)),
      ),
    send: (part, _key, signal) => send(api, part, within(signal)).catch(reject),
    edit: (messageId, part, signal) =>
      edit(api, Number(messageId), part, within(signal)).catch(error =>
        isSame(error) ? undefined : reject(error),
      ),
    address: to => ({ conversation_key: to, target: { chat_id: to } }),
    async typing(target, signal) {
      await api.raw.sendChatAction({ ...placeOf(target), action: 'typing' }, within(signal)).catch(reject)
    },
    async pressed({ reply }, signal) {
      await api.answerCallbackQuery(String(reply?.['callback_id']), undefined, within(signal)).catch(reject)
    },
    async fetchFile({ ref }, most, signal) {
      const { file_path } = await api.getFile(String(ref['file_id']), within(signal)).catch(reject)
      if (file_path === undefined) throw new Error('Telegram returned no path for the file')
      const response = await fetch(`${apiRoot}/file/bot${token}/${file_path}`, { signal }).catch(reject)
      return readAtMost(response, most)
    },
  }
}

// grammY's signal type is that of a polyfill package.
type Signal = Parameters<Api['getMe']>[0]
const within = (signal: AbortSignal): Signal =>
  AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]) as unknown as Signal
const reject = (thrown: unknown): never => {
  throw sendFailed(thrown)
}

function readUpdate(raw: Uint8Array): Update {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
  } catch (error) {
    throw new AppError('bad_request', 'Invalid request body: not valid JSON in UTF-8.', { cause: error })
  }
  if (typeof value !== 'object' || value === null || !('update_id' in value))
    throw new AppError('bad_request', 'Invalid request body: a Telegram update must have an update_id.')
  return value as Update
}

async function listen(
  api: Api,
  me: () => Promise<Me>,
  parse: (updates: readonly Update[]) => Promise<Inbound[]>,
  webhook: TelegramOptions['webhook'],
  { cursor, signal, sink, live }: Consuming,
): Promise<void> {
  await me()
  await api.setMyCommands(COMMANDS, undefined, within(signal))
  const allowed_updates = [...UPDATES]
  if (webhook !== null) {
    await api.setWebhook(
      webhook.url,
      { secret_token: webhook.secret, allowed_updates, max_connections: 20 },
      within(signal),
    )
    return live()
  }
  // Updates sent before are kept for the long poll.
  await api.deleteWebhook({ drop_pending_updates: false }, within(signal))
  let offset = Number(cursor ?? 0)
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const updates = await api.getUpdates(
      { offset, limit: 100, timeout: isFirst ? 0 : POLL_S, allowed_updates },
      signal as unknown as Signal,
    )
    if (isFirst) await live()
    const last = updates.at(-1)
    if (last === undefined) continue
    offset = last.update_id + 1
    // The next call confirms the updates that are stored by then.
    await sink(await parse(updates), String(offset))
  }
}

const placeOf = (target: Record<string, unknown>): { chat_id: number; message_thread_id?: number } => ({
  chat_id: Number(target['chat_id']),
  ...(target['thread_id'] === undefined ? {} : { message_thread_id: Number(target['thread_id']) }),
})
const buttonsOf = ({ prompt }: OutgoingPart): { reply_markup?: InlineKeyboardMarkup } =>
  prompt === undefined
    ? {}
    : {
        reply_markup: {
          inline_keyboard: prompt.choices.map(({ value, label }) => [{ text: label, callback_data: value }]),
        },
      }
/** The model writes Markdown; the channel's own messages are plain text. */
const isPlain = ({ plain, type }: OutgoingPart): boolean =>
  plain === true || type === 'notice' || type === 'state' || type === 'disclosure'

async function send(api: Api, part: OutgoingPart, signal: Signal): Promise<{ message_id: string | null }> {
  const callback = part.reply?.['callback_id']
  if (callback !== undefined && (await alert(api, String(callback), part.text, signal)))
    return { message_id: null }
  const place = { ...placeOf(part.target), ...buttonsOf(part) }
  const { text, file } = part
  if (file !== undefined) {
    const body = new InputFile(file.bytes, file.name)
    const caption = text.slice(0, CAPTION)
    const { message_id } = file.mime_type.startsWith('image/')
      ? await api.raw.sendPhoto({ ...place, photo: body, caption }, signal)
      : await api.raw.sendDocument({ ...place, document: body, caption }, signal)
    return { message_id: String(message_id) }
  }
  const { message_id } = isPlain(part)
    ? await api.raw.sendMessage({ ...place, text }, signal)
    : await api.raw.sendRichMessage({ ...place, rich_message: { markdown: text } }, signal)
  return { message_id: String(message_id) }
}

/** Visible to the person who used the button only. False if Telegram no longer waits for that answer. */
async function alert(api: Api, id: string, text: string, signal: Signal): Promise<boolean> {
  try {
    await api.answerCallbackQuery(id, { text: text.slice(0, ALERT), show_alert: true }, signal)
    return true
  } catch (error) {
    if (sendFailed(error).failure !== 'permanent') throw error
    return false
  }
}

async function edit(api: Api, message_id: number, part: OutgoingPart, signal: Signal): Promise<void> {
  const { chat_id } = placeOf(part.target)
  const shown = isPlain(part) ? { text: part.text } : { rich_message: { markdown: part.text } }
  await api.raw.editMessageText({ chat_id, message_id, ...shown, ...buttonsOf(part) }, signal)
}
